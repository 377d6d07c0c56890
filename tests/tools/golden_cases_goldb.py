"""Cases of everything that is computed place by place or row by row."""
from __future__ import annotations

import golden_cases_activations
import golden_cases_elewise
import golden_cases_norms

CASES = golden_cases_activations.CASES + golden_cases_elewise.CASES + golden_cases_norms.CASES
