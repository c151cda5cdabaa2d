// Package simulation is a clinic that is lived through in virtual time, from one seed: the whole server, from HTTP down to the files,
// in a bubble of testing/synctest. Patients on pages, agents on calls, a desk, readers of the live stream; replies that are lost, disks
// that are full, hours without the internet, restarts and kills. Package referee judges every answer.
//
//	make simulate SEED=7            one clinic; DAYS=30 for a month of it
//	make simulate SEEDS=1000        as many, one after another
//	make simulate SEED=7 ONLY=3,9   the same clinic, and of what happened there only these actions
//
// # What happens
//
// A seed draws the plan: a list of actions, each with its pause, its kind and a number of its own that all its choices are drawn from
// (plan_test.go). So any action can be left out and the others choose as before, as far as there is still what they chose from. When
// a check fails, the plan is cut down to the actions without which it would not (shrink_test.go), and printed.
//
// # What replays exactly, and what does not
//
// The plan, the clinic, the hour and the faults are the seed's. Time is the bubble's. One action follows another, and between two of
// them everything stands still. What the seed does not choose: ids and tokens (random, so that they differ from run to run), the order
// in which the scheduler runs goroutines within one action (a race of several clients is a real one), and what the runtime does with
// maps. A failure of a rule therefore replays; one that needs a certain winner of a race may take a few runs.
//
// # What is real
//
// The web server over net.Pipe, the engine, SQLite and bbolt in files of a directory, the hold table, the hub of the live streams, and
// mail as files. Stood in for: the network, the practice system (package upstreamtest), the failing disk and the cut of the power,
// which are decided where the engine calls the store and the queue. A kill keeps the files as they are at that moment, copies
// them, and opens the copy. Webhooks go to a receiver that is slow, breaks and is gone for hours.
package simulation
