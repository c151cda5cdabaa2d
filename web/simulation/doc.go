// Package simulation runs a clinic in virtual time from one seed: the whole server, from HTTP down to the files, in a
// bubble of testing/synctest. It has patients on pages, agents on calls, a desk and readers of the live stream,
// specialists who work at two places and are absent, a type with a question, and patients who get text messages. It has
// lost replies, full disks, hours without the internet, restarts and kills. Package referee judges every answer.
//
//	make simulate SEED=7            one clinic; DAYS=30 for a month of it
//	make simulate SEEDS=1000        as many, one after another
//	make simulate SEED=7 ONLY=3,9   the same clinic with only these of its actions
//
// # The plan
//
// A seed draws the plan: a list of actions, each with its pause, its kind and its own number, from which all its
// choices are drawn (plan_test.go). So any action can be left out and the others choose as before, as long as the
// same choices exist. When a check fails, the plan is reduced to the actions that the failure needs (shrink_test.go),
// and printed.
//
// # What replays exactly, and what does not
//
// The seed determines the plan, the clinic, the start and the faults. The time is the bubble's. One action follows
// another, and nothing happens between two of them. The seed does not determine ids and tokens (random, so they
// differ from run to run), the order in which the scheduler runs goroutines within one action (a race of several
// clients is a real one), and what the runtime does with maps. A broken rule therefore replays. A failure that needs
// a certain winner of a race may take a few runs.
//
// # What is real
//
// The web server over net.Pipe, the engine, SQLite and bbolt in files of a directory, the hold table, the hub of the
// live streams, and emails as files are real. The network, the practice-management system (package upstreamtest), the
// failing disk and the power cut are simulated; disk and power fail where the engine calls the store and the queue. A
// kill copies the files in their state at that moment, and opens the copy. Webhooks go to a receiver, and text
// messages to an SMS gateway, that is slow, fails and is unreachable for hours.
package simulation
