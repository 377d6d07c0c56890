/* Assay's C interface: capturing tensors, reading tensor files and dumps, comparing. With whole programs in C
 * and in Python: docs/c_interface.md. What becomes of a tensor on its way to the disk: docs/capture.md
 *
 * Every function may be called from any thread. None throws, exits or aborts; none prints, but that capturing
 * tells once on standard error what the disk refused; none changes what belongs to the process (signal
 * handlers, limits, locale, working folder). Those that can be refused answer an assay_status;
 * assay_last_error() then says why, for the thread that asked. A handle that was closed is refused like a
 * null pointer.
 *
 *   assay_file* file = NULL;
 *   assay_tensor_info info;
 *   if (assay_file_open("x.pt", 0, NULL, NULL, NULL, &file) != ASSAY_OK) puts(assay_last_error());
 *   info.size = sizeof info;
 *   if (assay_file_info(file, 0, &info) == ASSAY_OK && info.state == ASSAY_HAS_DATA)
 *     assay_file_read(file, 0, NULL, -1, malloc(info.bytes), info.bytes);
 *   assay_file_close(file);
 *
 *   const char* flags[] = {"--rule", "rel_l2 <= 1e-3"};
 *   int code = assay_compare("dump_npu", "dump_gpu", 2, flags, NULL, NULL);
 *
 *   assay_capture_config config;
 *   assay_capture_config_init(&config);
 *   config.root = "dump";
 *   assay_capture* capture = NULL;
 *   if (assay_capture_open(&config, &capture) != ASSAY_OK) puts(assay_last_error());
 *   int64_t shape[] = {2, 3};
 *   assay_tensor tensor = {values, ASSAY_F32, 2, shape, NULL, NULL, NULL};
 *   assay_capture_tensor(capture, &tensor, "step0/x.npy", ASSAY_NPY, NULL, NULL);
 *   assay_capture_close(capture);
 */
#ifndef ASSAY_ASSAY_H
#define ASSAY_ASSAY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_API __attribute__((visibility("default")))

/* Grows when something is added; what is there stays. A program asks before it uses what an older library
 * lacks. */
/* 1: capturing; 2: its version, attributes of .pt, reading and comparing too; 3: comparing tensors in memory;
   4: values of a Python program */
#define ASSAY_ABI_VERSION 4
ASSAY_API int assay_abi_version(void);
ASSAY_API const char* assay_version(void); /* of the library, as `assay --version` has it: "0.1.0" */

typedef enum assay_status {
  ASSAY_OK = 0,
  ASSAY_BAD_ARGUMENT = 1, /* a null pointer, an unknown number, a path that leads out of the root */
  ASSAY_UNSUPPORTED = 2,  /* the format cannot hold the type */
  ASSAY_TIMEOUT = 3,
  ASSAY_FAILED = 4,    /* anything else: no memory, the disk */
  ASSAY_NOT_FOUND = 5, /* no such file, no such data */
  ASSAY_BAD_FILE = 6,  /* its bytes are not what they claim to be, or ask for more than is allowed */
  ASSAY_CANCELLED = 7
} assay_status;

/* Why the last call of this thread was refused; "" if it was not. Lives until the next call of this thread.
 */
ASSAY_API const char* assay_last_error(void);

/* Types of fewer than 8 bits are packed as files hold them: the first element in the lowest bits (of ASSAY_U1
 * in the highest). */
typedef enum assay_dtype {
  ASSAY_F64 = 0,
  ASSAY_F32,
  ASSAY_F16,
  ASSAY_BF16,
  ASSAY_F8E4M3FN,
  ASSAY_F8E5M2,
  ASSAY_F8E4M3FNUZ,
  ASSAY_F8E5M2FNUZ,
  ASSAY_F8E8M0,
  ASSAY_HIF8,
  ASSAY_F6E3M2,
  ASSAY_F6E2M3,
  ASSAY_F4E2M1,
  ASSAY_F4E1M2,
  ASSAY_I64,
  ASSAY_I32,
  ASSAY_I16,
  ASSAY_I8,
  ASSAY_I4,
  ASSAY_I2,
  ASSAY_U64,
  ASSAY_U32,
  ASSAY_U16,
  ASSAY_U8,
  ASSAY_U4,
  ASSAY_U2,
  ASSAY_U1,
  ASSAY_BOOL,
  ASSAY_C32,
  ASSAY_C64,
  ASSAY_C128
} assay_dtype;

/* The number of a name: "f32", "float32", "torch.float32", "half"; -1 if there is none. And back; NULL if
 * there is none. */
ASSAY_API int assay_dtype_from_name(const char* name);
ASSAY_API const char* assay_dtype_name(int dtype);
ASSAY_API int assay_dtype_size(int dtype); /* bytes of an element that was read; 0 if there is no such type */

/* A tensor in the caller's memory. */
typedef struct assay_tensor {
  const void* data; /* element (0, 0, ...) */
  int32_t dtype;    /* assay_dtype */
  int32_t ndim;
  const int64_t* shape;   /* ndim numbers; NULL for a scalar */
  const int64_t* strides; /* in elements; NULL: dense, row-major */
  void (*release)(void*); /* called once, from any thread, when the data are no longer needed: nothing is
                             copied if it is dense. Of a tensor that is refused it is not called: that stays
                             the caller's. NULL: the data may change as soon as the call returns */
  void* release_argument;
} assay_tensor;

/* ---------------------------------------------------------------- what the library tells while it works */

/* What a sink is told. */
typedef enum assay_told {
  ASSAY_ROW = 1,     /* a row, as a line of `--report jsonl` has it: a JSON object */
  ASSAY_SUMMARY = 2, /* behind the rows of a comparison, the last line of that report:
                        {"summary": {...}, "run": {...}} */
  ASSAY_REPORT = 3,  /* a piece of what the program would write to standard output: the report for people */
  ASSAY_MESSAGE = 4, /* a line of what it would write to standard error: warnings */
  ASSAY_PROGRESS = 5 /* {"what": "comparing", "done": 10, "total": 100}, ten times a second at most; a total
                        of 0 is not known */
} assay_told;

/* Told one thing at a time, from any thread of the library's or the caller's. `text` ends with a zero, has
 * `size` bytes before it and lives as long as the call. What to answer: 0, or anything else to end the run;
 * the sink is then told nothing more. */
typedef int (*assay_sink)(void* user, int kind, const char* text, int64_t size);

/* ----------------------------------------------------------------------------------------------- reading */

/* A tensor file of any format, a folder of them, or a dump of any layout. */
typedef struct assay_file assay_file;

/* `flags`: `count` words, those of `assay inspect` that say what is opened and how: --only, --skip, --layout,
 * --dtype, --shape, --offset, --memory, --threads, --trusted. `sink` (or NULL) is told messages. Files are
 * opened, and their headers read, when a tensor of theirs is first asked for. */
ASSAY_API assay_status assay_file_open(const char* path, int count, const char* const* flags, assay_sink sink,
                                       void* user, assay_file** out);
/* What `assay inspect` lists, in its order; tensors are asked for by their number, from 0. */
ASSAY_API int64_t assay_file_count(const assay_file* file);

typedef enum assay_tensor_state {
  ASSAY_HAS_DATA = 0,
  ASSAY_STATED_ONLY = 1, /* the dump keeps statistics or a description: assay_file_describe */
  ASSAY_NO_TENSOR = 2,   /* an argument of an operator: a number, a text, None */
  ASSAY_BROKEN = 3       /* `trouble` says why it cannot be read; the others can */
} assay_tensor_state;

typedef struct assay_tensor_info {
  int32_t size;  /* sizeof(assay_tensor_info), set by the caller: no more than this is filled in */
  int32_t state; /* assay_tensor_state */
  int32_t dtype; /* assay_dtype; -1: not known, and no shape either */
  int32_t ndim;
  const int64_t* shape; /* ndim numbers */
  int64_t count, bytes; /* elements, and what assay_file_read fills */
  /* Texts live until the file is closed; none is NULL. */
  const char* name; /* as reports have it: of a file with one tensor and no name for it, that of the file */
  const char* section; /* of a dump of several: "rank 0 step 3" */
  const char* file;    /* where it is, or is described; "": nowhere */
  const char* trouble; /* ASSAY_BROKEN */
  const char* remark;  /* what is odd about its file; lines */
  /* Where its elements lie as assay_file_read gives them, so that they may be mapped; data_offset -1: nowhere
     (they are deflated, turned, of the other byte order, in a storage layout). */
  const char* data_file;
  int64_t data_offset;
} assay_tensor_info;
ASSAY_API assay_status assay_file_info(assay_file* file, int64_t number, assay_tensor_info* out);

/* Its elements, row-major, little-endian, elements of fewer than 8 bits in a byte each. `slice`: a part of it
 * as NumPy writes it, "[0, :, 3]" (steps of 1 or more), which alone is read; NULL: all. `dtype`: converted to
 * this type (rounded to nearest even; integers truncate and saturate); -1: as they are. `size`: of the
 * buffer, exactly what it takes. */
ASSAY_API assay_status assay_file_read(assay_file* file, int64_t number, const char* slice, int dtype,
                                       void* buffer, int64_t size);

/* An object as `assay inspect --json` has it (docs/inspect.md): name, dtype, shape, bytes, what the dump
 * itself says of it (`stated`, `facts`), of a slice the same. `measures` 1: the data are read, and min, max,
 * mean, std, norm, nan, inf, zero, histogram are of them. The text lives until the next call of this thread.
 */
ASSAY_API assay_status assay_file_describe(assay_file* file, int64_t number, const char* slice, int measures,
                                           const char** json);

/* A call of another thread that has it in hand goes on; `data_file` and the other texts do not. `file` may be
 * NULL. */
ASSAY_API void assay_file_close(assay_file* file);

/* --------------------------------------------------------------------------------------------- comparing */

/* `assay compare MINE GOLDEN` with `count` words of flags ("--rule", "rel_l2 <= 1e-3"; also --report xlsx
 * --output DIR). Answers what the program exits with: 0 within the rules, 1 different, 2 trouble, or too
 * little compared; assay_last_error() says what the trouble was, and is "" where it lies in the rows. `sink`
 * may be NULL. */
ASSAY_API int assay_compare(const char* mine, const char* golden, int count, const char* const* flags,
                            assay_sink sink, void* user);

/* Tensors in the caller's memory, which stay the caller's and do not change until the call returns
 * (assay_tensor.release is not called). Where one is dense it is read in place. Since 3. */
typedef struct assay_tensors {
  int64_t count;
  const assay_tensor* tensors;
  const char* const* names; /* of each, another one for each; NULL: of a single one */
} assay_tensors;

/* The same of two sets of them, which reports call "mine" and "golden"; tensors of one name belong together.
 * Flags that say how files are read say nothing here. */
ASSAY_API int assay_compare_tensors(const assay_tensors* mine, const assay_tensors* golden, int count,
                                    const char* const* flags, assay_sink sink, void* user);

/* Ends the runs that were started with this `user`, as if their sinks had answered 1: from any thread, at
 * once where the run is told nothing for a while. Answers how many there were. Since 3. */
ASSAY_API int assay_cancel(const void* user);

/* Any other command of the program: {"errcheck", "dump/step0"}, {"opcheck", "dump"}, {"inspect", "x.pt",
 * "--json"},
 * {"msprobe", "compare", ...}. Rows and a summary come from compare, opcheck and errcheck. Programs (`assay
 * dump
 * -- COMMAND`) are not started. */
ASSAY_API int assay_run(int count, const char* const* arguments, assay_sink sink, void* user);

/* --------------------------------------------------------------------------------------------- capturing */

typedef enum assay_format {
  ASSAY_STATISTICS_ONLY = 0, /* no file */
  ASSAY_ATB_BIN = 1,
  ASSAY_NPY = 2,
  ASSAY_PT = 3,
  ASSAY_SAFETENSORS = 4
} assay_format;

typedef struct assay_statistics {
  int64_t count, nans, infs, zeros;
  /* The largest and the smallest element; a NaN is neither. Of integers beyond 2^53 see max_integer and
     min_integer (of unsigned ones the bits). Of complex numbers the real parts of those with the largest and
     the smallest magnitude. */
  double max, min;
  int64_t max_integer, min_integer;
  double mean, norm; /* in f64, of all elements: NaN and infinities take part */
  uint32_t crc32;    /* of the bytes in row-major order, as zlib gives it; 0 unless asked for */
  uint32_t reserved;
  uint64_t xor64; /* of the words of 8 bytes, the last one filled up with zeros */
} assay_statistics;

typedef struct assay_capture assay_capture;

typedef struct assay_capture_config {
  int32_t size;       /* sizeof(assay_capture_config), set by assay_capture_config_init */
  int32_t threads;    /* that write; 0: by the number of cores, two to four */
  const char* root;   /* folder that paths are relative to; it gets a capture.json. NULL: the working folder,
                         and none */
  int64_t budget;     /* bytes of everything that waits; 1 GiB */
  int32_t drops_data; /* 1: where the budget is used up, statistics are kept and data are not; 0: the caller
                         waits */
  int32_t dedupe; /* 1: equal tensors are stored once, the others are hard links to it; 2: symbolic links */
  int64_t patience_ms;             /* how long a caller waits for a disk on which nothing gets done; 60 000 */
  int64_t reserve;                 /* bytes that stay free on the disk; 0 */
  uint32_t file_mode, folder_mode; /* less what the umask takes away; 0666 and 0777 */
} assay_capture_config;

ASSAY_API void assay_capture_config_init(assay_capture_config* config);
ASSAY_API assay_status assay_capture_open(const assay_capture_config* config, assay_capture** out);

/* What torch.load gives back of a file of ASSAY_PT. Since 2. */
typedef enum assay_torch_object {
  ASSAY_TORCH_TENSOR = 0,
  ASSAY_TORCH_TENSOR_WITH_GRADIENT = 1, /* that requires one */
  ASSAY_TORCH_PARAMETER = 2,
  ASSAY_TORCH_FIXED_PARAMETER = 3 /* that requires no gradient */
} assay_torch_object;

/* What belongs to one file beyond the tensor. Zeros are the defaults. */
typedef struct assay_attributes {
  int32_t replaces;        /* 1: a file of this name is replaced; 0: the new one is x.2.npy */
  int32_t atb_format;      /* ASSAY_ATB_BIN: the number of the storage format; 0 means 2, nd */
  int32_t checksums;       /* 1: statistics have crc32 and xor64 too, at a little more than half the speed */
  int32_t torch_object;    /* ASSAY_PT: assay_torch_object */
  const char* tensor_name; /* ASSAY_SAFETENSORS; NULL: "tensor". ASSAY_PT: the folder in the archive, which
                              torch calls like the file; NULL: "archive" */
} assay_attributes;

/* Hands a tensor over. With `statistics`, they are taken before the call returns. `path` is relative to the
 * root, or absolute. */
ASSAY_API assay_status assay_capture_tensor(assay_capture* capture, const assay_tensor* tensor,
                                            const char* path, int format, const assay_attributes* attributes,
                                            assay_statistics* statistics);

/* An assay_tensor.release whose argument is an int64_t that becomes one less: for callers that cannot give a
 * function of their own which any thread may call. Since 4. */
ASSAY_API void assay_count_down(void* number);

/* One line (its end is added) for an append-only file; `header`, if not NULL, is the first line of a new one.
   Lines come in the order of the calls. */
ASSAY_API assay_status assay_capture_line(assay_capture* capture, const char* path, const char* header,
                                          const char* line);

/* The whole content of a text file, in the place of what was there. */
ASSAY_API assay_status assay_capture_text(assay_capture* capture, const char* path, const char* text);

/* Until everything that was handed in before is in its file. */
ASSAY_API assay_status assay_capture_flush(assay_capture* capture, int64_t timeout_ms);

typedef struct assay_tally {
  int64_t tensors, bytes, linked, statistics, lines, dropped, lost, lost_bytes;
} assay_tally;
ASSAY_API assay_status assay_capture_tally(assay_capture* capture, assay_tally* out);

/* Flushes and ends. A program that ends by exit() or return needs no close; `capture` may be NULL. */
ASSAY_API void assay_capture_close(assay_capture* capture);

/* ------------------------------------------------------------------------- values of a Python program */

/* What dump.json says of what a call is given and gives back, as python/assay/msprobe/values.py lays it out.
 * Python's objects are void*; whoever calls holds Python's lock (ctypes.PyDLL). Since 4. */
typedef struct assay_values assay_values;

typedef enum assay_summary {
  ASSAY_SUMMARY_STATISTICS = 0,
  ASSAY_SUMMARY_MD5 = 1, /* those, and the CRC-32 that msprobe calls so */
  ASSAY_SUMMARY_XOR = 2,
  ASSAY_SUMMARY_NONE = 3
} assay_summary;

typedef struct assay_values_config {
  int32_t size;     /* sizeof(assay_values_config) */
  int32_t summary;  /* assay_summary */
  int32_t has_sums; /* mean and norm */
  int32_t dtypes;
  void* const* dtype_objects; /* torch.float32 and so on, with their numbers */
  const int32_t* dtype_numbers;
  void *tensor, *parameter, *strided; /* torch.Tensor, torch.nn.Parameter, torch.strided */
  void *mean, *norm;   /* functions of torch, for small tensors of the CPU: their digits are to be torch's */
  void *stream, *keep; /* functions: of a device's number, its current stream; told of a tensor that is
                          measured on another stream than the default one */
} assay_values_config;

/* The objects have to live as long as what is opened. */
ASSAY_API assay_status assay_values_open(const assay_values_config* config, assay_values** out);
/* From here tensors of NVIDIA devices are measured on them, with a kernel that the library at `compiler`
 * (libnvrtc) makes. */
ASSAY_API assay_status assay_values_use_device(assay_values* values, int device, const char* compiler);
/* A new reference: the text, with marks where numbers are still on a device; or None: something is in it that
 * is not known here. `keep`: None, or a function of a tensor and its place that answers the name of the file
 * its data go to, or None. NULL where it raised. */
ASSAY_API void* assay_values_text(assay_values* values, void* value, int32_t depth, void* keep);
/* Writes a line of a journal to the descriptor `file`: the text `head`, what was told when the call began
 * (`begun`, a text or None), what `value` holds (a dict that is not empty), its end. A new reference: the
 * errno of a write that failed, or 0; None where nothing was written, since something is in it that is not
 * known here or lies on a device. */
ASSAY_API void* assay_values_line(assay_values* values, void* head, void* begun, void* value, int32_t depth,
                                  int file);
/* A text with the numbers in the place of the marks; None where a device is not done with them, unless it is
 * to be waited for. */
ASSAY_API void* assay_values_settled(assay_values* values, void* text, int32_t waits);
ASSAY_API void assay_values_close(assay_values* values);

/* dump.json in `folder`, with `has_extra` stack.json and construct.json too, of a journal
 * (python/assay/msprobe/journal.py). `head`: the beginning of dump.json up to its entries. ASSAY_UNSUPPORTED:
 * it has lines that the package puts together itself. */
ASSAY_API assay_status assay_journal_render(const char* journal, const char* head, int32_t has_extra,
                                            const char* folder);

#ifdef __cplusplus
}
#endif
#endif
