// Package chaos runs the real program under a schedule of faults and records what
// everybody was told; package verify judges the record.
//
// A Schedule is data, made from a seed before anything starts: who says what when,
// who leaves and comes back where, which fault hits what for how long. The same seed
// gives the same schedule; what the machine makes of it may differ, so a failure is
// printed with its schedule, and a seed is run again with CHAOS_SEED.
//
//	viewers ---- front proxies (cut after random bytes) ---- nodes ---- back proxies ---- redis-server
//
// A run has three phases. In the storm the faults happen. Then everything is healed and
// every viewer comes back for good; when all is settled the record is completed with
// what the log holds. At last all viewers leave, and what stays behind in Redis and in
// the nodes is noted. Redis itself never loses data here and logs are not trimmed, so that
// the rules of package verify are exact.
package chaos
