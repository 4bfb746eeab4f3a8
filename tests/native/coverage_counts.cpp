// Linked into the extension that `make coverage` builds: writes the counts of lines when asked to. By itself GCC's
// library does so when a process ends, and pytest's workers are sometimes killed before they get that far.
extern "C" void __gcov_dump(void);

extern "C" __attribute__((visibility("default"))) void penstock_write_counts() { __gcov_dump(); }
