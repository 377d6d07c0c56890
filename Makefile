# make demo      builds Assay and shows it at work
# make test      everything that CI checks; the last line counts what passed and failed
# make test-threads   the pipeline under ThreadSanitizer
# make test-torch2    the Python package under PyTorch 2, in an environment of its own (from PyPI, some GB)
# make package   build/release/assay-*.deb, assay-mpi-*.deb and .tar.gz
# make web       web/dist, the page of --report html, from its sources (with npm; a build of Assay needs none of it)
# make wheel     build/wheel/assay-*.whl and assay_compat-*.whl, for pip
# Each installs the Debian packages it lacks first (packages.txt). Developers use the CMake presets: CONTRIBUTING.md

SHELL := /bin/bash
# A Python or a toolchain from elsewhere must not shadow the one that Debian's packages belong to.
export PATH := /usr/bin:/bin:$(PATH)

.PHONY: demo build test test-threads test-torch2 package web wheel clean

demo: build
	@build/release/assay demo

# Tests and benchmarks are left out where the build folder is new: they need packages that a user does not.
build:
	@bash tests/tools/install_packages.sh build
	@bash tests/tools/configure.sh --once release -DASSAY_TESTS=OFF -DASSAY_BENCH=OFF
	@cmake --build build/release --target assay

test:
	@bash tests/tools/install_packages.sh build test
	@/usr/bin/python3 tests/tools/run_all.py

# Not part of `make test`: it needs a third build of the program.
test-threads:
	@bash tests/tools/install_packages.sh build test
	@/usr/bin/python3 tests/tools/run_all.py --threads

TORCH2 := build/torch2/bin/python
test-torch2: build
	@bash tests/tools/install_packages.sh torch2
	@cmake --build build/release --target assay_library assay_probe
	@$(TORCH2) -c 'import torch, numpy' 2>/dev/null || \
	  { /usr/bin/python3 -m venv build/torch2 && $(TORCH2) -m pip install --quiet torch numpy; }
	@$(TORCH2) tests/tools/check_torch_capture.py --bin build/release
	@$(TORCH2) tests/tools/check_python_api.py --bin build/release
	@$(TORCH2) tests/tools/check_msprobe_capture.py --bin build/release
	@$(TORCH2) tests/tools/check_cuda_capture.py --bin build/release

package: build
	@bash tests/tools/install_packages.sh package
	@cmake -S . -B build/release > /dev/null && cmake --build build/release --target assay-mpi
	@cd build/release && cpack

web:
	@bash tests/tools/install_packages.sh web
	@cd web && npm ci --no-audit --no-fund --ignore-scripts && node node_modules/typescript/bin/tsc --noEmit && node build.mjs

wheel: build
	@cmake --build build/release --target assay_library assay_probe
	@/usr/bin/python3 scripts/make_wheel.py --bin build/release --out build/wheel

clean:
	rm -rf build
