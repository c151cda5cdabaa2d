// Package simulation runs a clinic in virtual time from one seed: the whole server, from HTTP down to the files, in a
// testing/synctest bubble. The clinic has patients on pages, agents on calls, a desk, readers of the live stream,
// specialists who work at two places and are sometimes absent, a type with a question, and patients who get text
// messages. Replies get lost, the disk fills up, the internet fails for hours, and the server is restarted and killed.
// Package referee judges every response.
//
//	make simulate SEED=7            one clinic; DAYS=30 for a month of it
//	make simulate SEEDS=1000        as many, one after another
//	make simulate SEED=7 ONLY=3,9   the same clinic with only these of its actions
//
// # The plan
//
// The seed determines the plan, which is a list of actions (plan_test.go). Each action has a pause, a kind and its own
// number, from which all its random choices are drawn. So any action can be left out without changing the choices of
// the others, as long as the same choices exist. When a check fails, the plan is reduced to the actions that the
// failure needs (shrink_test.go), and printed.
//
// # What replays exactly, and what does not
//
// The seed determines the plan, the clinic, the start and the faults. The time is the virtual time of the bubble, and
// the actions run one after another. The seed does not determine ids and tokens, which are random and differ from run
// to run. It does not determine the order in which the scheduler runs goroutines within one action, so a race between
// several clients is a real race. It does not determine the iteration order of maps either. So a failure usually
// replays with the same seed, but one that depends on the winner of a race may need several runs.
//
// # What is real
//
// These parts are real: the web server over net.Pipe, the engine, SQLite and bbolt in files in a directory, the hold
// table, the hub of the live streams, and emails as files. These parts are simulated: the network, the
// practice-management system (package upstreamtest), the failing disk and the power cut. Disk and power fail where the
// engine calls the store and the queue. A kill copies the files in their state at that moment, and opens the copy. The
// receiver of webhooks and the SMS gateway are also simulated. They are slow, fail, and are unreachable for hours.
package simulation
