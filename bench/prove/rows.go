package main

import "holdfast/bench/planted"

// rows is the table in its printed order. A row runs an existing test, a fuzz target or the program itself.
var rows = []row{
	{
		name: "simulated clinic, every promise after every action", unit: "actions", pkg: "./web/simulation",
		run:     "^TestSimulatedClinic$",
		counted: `(\d+) actions in`, args: []string{"-seed", "{seed}", "-seeds", "1"},
		long: []string{"-seed", "{seed}", "-seeds", "1", "-days", "3"}, asked: 120_000, // about 1,000 simulated days
		bug: &bug{
			says: `has 4 holds, and the maximum is 3`,
			lines: []planted.Bug{
				{In: "memory.Backend.Claim", Old: "= c.Quota", Wrong: " c.Quota"},
			},
		},
	},
	{
		name: "kill -9 of the server under agents and visitors, SQLite", unit: "kills", pkg: "./cli",
		run: "^TestKillLosesNothingAndBooksNothingTwice$/^SQLite$", counted: `(\d+) kills\n`,
		env: "HOLDFAST_KILLS=6 HOLDFAST_KILL_SEED={seed}", longEnv: "HOLDFAST_KILLS=100 HOLDFAST_KILL_SEED={seed}",
		asked: 10_000,
		bug: &bug{ // the next start does not search for outbox rows that were not handed over before the kill
			says: `is pending here, and the practice system has it \d times`,
			lines: []planted.Bug{
				{In: "outbound.Outbound.recoverQueue",
					Old: `out.reconcile(ctx, "", out.started)`, Wrong: "nil"},
			},
		},
	},
	{
		name: "the same, PostgreSQL", unit: "kills", pkg: "./cli",
		run: "^TestKillLosesNothingAndBooksNothingTwice$/^PostgreSQL$", counted: `(\d+) kills\n`,
		longEnv: "HOLDFAST_KILLS=100 HOLDFAST_KILL_SEED={seed}", asked: 1_000, onlyLong: true,
	},
	{
		name: "kill -9 of 32 writers", unit: "bookings", pkg: "./store/sqlite", run: "^TestKillKeepsAcknowledged$",
		counted: `round 2: (\d+) acknowledged`, asked: 100_000, bug: undoneBatch,
	},
	{
		name: "crash at the n-th write or sync", unit: "points", pkg: "./store/sqlite",
		run: "^TestCrashAtAnyWriteKeepsAcknowledged$", counted: `proved (\d+) crash`, env: "HOLDFAST_CRASH_POINTS=12",
		longEnv: "HOLDFAST_CRASH_POINTS=300", asked: 300, bug: undoneBatch,
	},
	{
		name: "power cut under the database", unit: "cuts", pkg: "./store/sqlite",
		run: "^TestPowerCutKeepsAcknowledged$", counted: `proved (\d+) power`, env: "HOLDFAST_POWER_CUTS=6",
		longEnv: "HOLDFAST_POWER_CUTS=50", asked: 1_000, onDisk: true,
		bug: &bug{
			says: `was acknowledged and is missing`,
			lines: []planted.Bug{
				{In: "sqlite.dsn", Old: "synchronous(FULL)", Wrong: "synchronous(NORMAL)"},
				{In: "sqlite.durable", Old: "sync != 2 {", Wrong: "sync != 1 {"},
			},
		},
	},
	{
		name: "kill -9 of the queue", unit: "passes", pkg: "./store/bolt", run: "^TestKillKeepsAcknowledged$",
		asked: 100,
		bug: &bug{
			says: `was attempted: got \w+ with 0 attempts`,
			lines: []planted.Bug{
				{In: "bolt.Queue.Take", Old: "taken.Attempts++", Wrong: "taken.Attempts += 0"},
			},
		},
	},
	{
		name: "power cut at every step of a write upstream", unit: "cuts", pkg: "./engine",
		run: "^TestPowerCutAtEveryStep$", counted: `(\d+) cuts`, asked: 1_000, bug: unasked,
	},
	{
		name: "one appointment upstream, replies lost", unit: "writes", pkg: "./engine", run: "^TestSimulation$",
		counted: `(\d+) writes,`, args: []string{"-bookings", "300", "-seed", "{seed}"},
		long: []string{"-bookings", "10000", "-seed", "{seed}"}, asked: 1_000_000, bug: unasked,
	},
	{
		name: "disk full during a delivery, outcome stored afterwards", unit: "passes", pkg: "./engine",
		run: "^TestFullDiskLeavesNoOperationProcessing$", asked: 200,
		bug: &bug{
			says: `after the disk has space: got .*; want none processing`,
			lines: []planted.Bug{
				{In: "outbound.Outbound.save", Old: "out.unsaved.wakeUps.wake()", Wrong: "_ = u"},
			},
		},
	},
	{
		name: "an operation that stays processing is over the limit of its alert", unit: "passes", pkg: "./engine",
		run: "^TestFullDiskLeavesNoOperationProcessing$", asked: 1,
		bug: &bug{
			says: `want more than the alert's limit`,
			lines: []planted.Bug{
				{In: "outbound.Outbound.Measure", Old: "f.Attempt = max(f.Attempt, now.Sub(oldest[i].AttemptedAt))",
					Wrong: "f.Attempt = max(f.Attempt, oldest[i].AttemptedAt.Sub(now))"},
			},
		},
	},
	{
		name: "order of one appointment under clocks that differ", unit: "passes", pkg: "./engine",
		run: "^TestOperationOrderIgnoresClocks$", asked: 200,
		bug: &bug{
			says: `the cancellation waits for the booking`,
			lines: []planted.Bug{
				{In: "outbound.order.before", Old: "o[a] < o[b]", Wrong: "a < b"},
			},
		},
	},
	{
		name: "PostgreSQL restarts during a delivery, outcome stored afterwards", unit: "passes", pkg: "./engine",
		run: "^TestPostgresRestartLeavesNoOperationProcessing$", asked: 200,
		bug: &bug{
			says: `no operation is processing and the outbox is empty: not within`,
			lines: []planted.Bug{
				{In: "outbound.Outbound.save", Old: "out.unsaved.wakeUps.wake()", Wrong: "_ = u"},
			},
		},
	},
	{
		name: "data rolled back to a snapshot, nothing written upstream twice", unit: "passes",
		pkg: "./engine/practice", run: "^TestRollbackWritesNothingTwice$", asked: 200,
		bug: &bug{
			says: `want each of 20 bookings written once`,
			lines: []planted.Bug{
				{In: "practice.Practice.attemptWrite", Old: `patient == "" && !op.Unknown && pr.mayBeWritten(op, &p)`,
					Wrong: "false"},
			},
		},
	},
	{
		name: "data directory rolled back behind its copies is refused", unit: "passes", pkg: "./cli",
		run: "^TestRolledBackDirectoryIsRefused$", asked: 200,
		bug: &bug{
			says: `is older than its copies`,
			lines: []planted.Bug{
				{In: "backup.Backups.compareCopies", Old: "newest = i", Wrong: "_ = i"},
			},
		},
	},
	{
		name: "EIO and ENOSPC of one call about the database, its log or the queue", unit: "errors", pkg: "./cli",
		run: "^TestErrorOfDatabaseCallLosesNoBooking$", counted: `(\d+) calls failed`, asked: 50,
		longEnv: "HOLDFAST_TESTS=long",
		bug: &bug{ // a failed commit is acknowledged
			says: `acknowledged bookings are missing`, long: true,
			lines: []planted.Bug{
				{In: "sqlite.writer.commit",
					Old: `_, err = w.conn.exec("COMMIT")`, Wrong: `_, _ = w.conn.exec("COMMIT")`},
			},
		},
	},
	{
		name: "EIO and ENOSPC of each call of backup and keys rotate", unit: "passes", pkg: "./cli",
		run: "^TestErrorOfEachCallOfCommand$", asked: 1, longEnv: "HOLDFAST_TESTS=long",
	},
	{
		name: "live streams return with their events", unit: "passes", pkg: "./web/stream",
		run: "^TestStreamsReturnWithTheirEvents$", asked: 200,
		bug: &bug{
			says: `without events: got`,
			lines: []planted.Bug{
				{In: "stream.Hub.follow", Old: "h.interrupt(ctx, err)", Wrong: "h.stopWithoutEvents(ctx, err); return"},
			},
		},
	},
	{
		name: "every node publishes every booking", unit: "passes", pkg: "./engine",
		run: "^TestEveryNodePublishesEveryBooking$", asked: 200,
		bug: &bug{
			says: `want both bookings`,
			lines: []planted.Bug{
				{In: "booking.Booking.ConfirmFromFeed", Old: "range booked", Wrong: "range booked[:0]"},
			},
		},
	},
	{
		name: "a repeat at another node finds its own hold", unit: "passes", pkg: "./engine",
		run: "^TestRepeatFindsItsOwnHold$", asked: 200,
		bug: &bug{
			says: `the repeat: got`,
			lines: []planted.Bug{
				{In: "booking.ClaimOwner", Old: "once == nil", Wrong: "once == nil || true"},
			},
		},
	},
	{
		name: "the target of a move is refused until it is whole", unit: "passes", pkg: "./store/postgres",
		run: "^TestOpenRefusesUnfinishedTarget$", asked: 200,
		bug: &bug{
			says: `serving it: got`,
			lines: []planted.Bug{
				{In: "postgres.apply", Old: "of.target && m.Version == 1", Wrong: "false && m.Version == 1"},
			},
		},
	},
	{
		name: "a poll while a hold becomes a booking", unit: "passes", pkg: "./engine/booking",
		run: "^TestPollSeesAHoldBecomeABooking$", asked: 200,
		bug: &bug{
			says: `booked: got`,
			lines: []planted.Bug{
				{In: "booking.Booking.pollType", Old: "range pollTries", Wrong: "range 1"},
			},
		},
	},
	{
		name: "histories of one slot, linearizable", unit: "histories", pkg: "./engine/booking",
		run: "^TestSlotHistoriesAreLinearizable$", counted: `(\d+) histories`,
		args: []string{"-histories", "1200", "-seed", "{seed}"}, asked: 100_000,
		bug: &bug{
			says: `of one slot is Illegal`,
			lines: []planted.Bug{
				{In: "occupancy.appointments.apply", Old: "s.from, s.to) {",
					Wrong: "s.from, s.to) && after.Seat > 0 {"},
				{In: "occupancy.Time.followBusy", Old: "tm.clinic.Current().Exclusive(after) {",
					Wrong: "after.Seat > 0 {"},
			},
		},
	},
	{
		name: "live stream under a storm of claims", unit: "readers", pkg: "./web/stream",
		run: "^TestStreamIsCompleteAndUnique$", counted: `(\d+) readers`, env: "HOLDFAST_READERS=300",
		longEnv: "HOLDFAST_READERS=5000",
		bug: &bug{
			says: `visitor \d+ (has \d+ holds|did not receive)`,
			lines: []planted.Bug{
				{In: "memory.shard.end", Old: "s.b.log.Hold(kind, reason, now.wall, &r.Hold)",
					Wrong: "_, _ = kind, reason"},
			},
		},
	},
	{
		name: "readers that never read", unit: "passes", pkg: "./web/stream",
		run: "^TestSlowReaderIsCutOff$|^TestReaderBehindRingIsEnded$", asked: 200,
		bug: &bug{
			says: `streams remain 5 s after the first event`,
			lines: []planted.Bug{
				{In: "stream.Hub.finishWrite", Old: "h.options.WriteTimeout", Wrong: "100*h.options.WriteTimeout"},
			},
		},
	},
	{
		name: "every zone, every change of its clocks over two years", unit: "changes", pkg: "./engine/availability",
		run: "^TestEveryZoneAtEveryChangeOfClocks$", counted: `(\d+) changes of clocks`,
		bug: &bug{
			says: `\d{4}-\d\d-\d\d, \[\{.*\}\]:\n\s*got \[\d.*\]\n\s*want \[\d`,
			lines: []planted.Bug{
				{In: "availability.zoneCursor.remember", Old: "max(z.lo", Wrong: "min(z.lo"},
			},
		},
	},
	{
		name: "malformed requests on every route", unit: "requests", pkg: "./web", run: "^TestMalformedRequests$",
		counted: `(\d+) malformed`, asked: 10_000,
		bug: &bug{
			says: `answered 500`,
			lines: []planted.Bug{
				{In: "web.decode", Old: `return errMalformedBody.with("The body is not UTF-8. Send the text in UTF-8.`,
					Wrong: `panic("a body that is not UTF-8`},
			},
		},
	},
	{
		name: "nothing personal in logs, metrics and answers", unit: "passes", pkg: "./web",
		run: "^TestNothingPersonalLeaks$",
		bug: &bug{
			says: `the log contains`,
			lines: []planted.Bug{
				{In: "web.call.said", Old: "c.route.pattern", Wrong: "c.r.URL.String()"},
			},
		},
	},
	{
		name: "one node without Redis, without PostgreSQL or stopped: no time given twice", unit: "faults",
		pkg: "./holds/home", run: "^TestFaultOfOneNodeGivesNoTimeTwice$", counted: `(\d+) faults,`,
		env: "HOLDFAST_HOME_FAULTS=120", longEnv: "HOLDFAST_HOME_FAULTS=600", asked: 2_000,
		bug: &bug{ // a node that resumes changes the old copy
			says: `was given while .* is held until|is gone before its time`,
			lines: []planted.Bug{
				{In: "holds/redis/lua/under.lua", Old: "~= '' and redis.call('GET', 'holdfast:epoch') ~= under",
					Wrong: "== 'planted'"},
			},
		},
	},
	{
		name: "webhooks of one appointment under clocks that differ", unit: "passes", pkg: "./engine",
		run: "^TestWebhooksKeepTheirOrderUnderSkew$", asked: 200,
		bug: &bug{
			says: `the receiver got|both webhooks arrive`,
			lines: []planted.Bug{
				{In: "message.Messages.behindNotice", Old: "!pending && len(list) == 0", Wrong: "true"},
			},
		},
	},
	{
		name: "emails of one appointment under clocks that differ", unit: "passes", pkg: "./engine",
		run: "^TestEmailsKeepTheirOrderUnderSkew$", asked: 200,
		bug: &bug{
			says: `want the confirmation first`,
			lines: []planted.Bug{
				{In: "message.Messages.behindNotice", Old: "!pending && len(list) == 0", Wrong: "true"},
			},
		},
	},
	{
		name: "a node frozen in the agents' line writes nothing more upstream", unit: "passes", pkg: "./cli",
		run: "^TestFrozenNodeWritesOnce$", asked: 200,
		bug: &bug{ // the node does not check whether its caller has left
			says: `want each of \d+ bookings written once`,
			lines: []planted.Bug{
				{In: "practice.Practice.sendDirect", Old: "time.Until(d.deadline) < CallReserve/2", Wrong: "false"},
			},
		},
	},
	{
		name: "a node frozen during a call, nothing stays processing", unit: "passes", pkg: "./cli",
		run: "^TestFrozenNodeKeepsNothingProcessing$", asked: 200,
		bug: &bug{ // no node takes over an operation whose lease has expired
			says: `the other node completes every operation`, long: true, // the test waits for its whole time limit
			lines: []planted.Bug{
				{In: "postgres.takeOver", Old: "((owner <> ''", Wrong: "((false"},
			},
		},
	},
	{
		name: "a node frozen during a write delays the others by a second",
		unit: "passes", pkg: "./store/postgres", run: "^TestHungNodeLosesLock$", asked: 200,
		bug: &bug{ // PostgreSQL does not end the transaction of the frozen node
			says: `a booking behind a node that is frozen`,
			lines: []planted.Bug{
				{In: "postgres.server.forWrites", Old: "maxPause.Milliseconds()", Wrong: "0*maxPause.Milliseconds()"},
			},
		},
	},
	{
		name: "a person acts on a delivery whose outcome is not stored", unit: "passes", pkg: "./web",
		run: "^TestPersonActsOnStuckDelivery$", asked: 200,
		bug: &bug{
			says: `got 409, want 507`,
			lines: []planted.Bug{
				{In: "outbound.Outbound.withOperation", Old: "u != nil", Wrong: "u != nil && false"},
			},
		},
	},
	{
		name: "nodes that add the same operations never deadlock", unit: "passes", pkg: "./store/postgres",
		run: "^TestConcurrentAddsNeverDeadlock$", asked: 200,
		bug: &bug{
			says: `round \d+, node \d`,
			lines: []planted.Bug{
				{In: "postgres.addAll", Old: `AS list(x) ORDER BY (x->>0) COLLATE "C"`, Wrong: "AS list(x)"},
			},
		},
	},
	{
		name: "one node is cut off from PostgreSQL during a delivery, nothing stays processing", unit: "passes",
		pkg: "./cli", run: "^TestNodeCutFromDatabaseLeavesNothingProcessing$", asked: 200,
		bug: &bug{ // the outcome that could not be stored is dropped
			says: `still not: every operation is completed`,
			lines: []planted.Bug{
				{In: "outbound.Outbound.save", Old: "out.unsaved.wakeUps.wake()", Wrong: "_ = u"},
			},
		},
	},
	{
		name: "1,000 cuts of one node from Redis: no time given twice, no client refused for 1.5 s", unit: "faults",
		pkg: "./holds/home", run: "^TestFaultOfOneNodeGivesNoTimeTwice$", counted: `(\d+) faults,`, asked: 1_000,
		onlyLong: true, longEnv: "HOLDFAST_HOME_FAULTS=200 HOLDFAST_HOME_KIND=cut HOLDFAST_HOME_LIMIT=1.5s",
	},
	{
		name: "1,000 pauses of one node: the same", unit: "faults", pkg: "./holds/home",
		run: "^TestFaultOfOneNodeGivesNoTimeTwice$", counted: `(\d+) faults,`, asked: 1_000, onlyLong: true,
		longEnv: "HOLDFAST_HOME_FAULTS=200 HOLDFAST_HOME_KIND=pause HOLDFAST_HOME_LIMIT=1.5s",
	},
	{
		name: "SIGTERM under load with 1,000 streams: nothing lost, every stream notified", unit: "streams",
		pkg: "./cli", run: "^TestStopUnderLoadLosesNothing$", counted: `(\d+) streams notified`,
		env: "HOLDFAST_STREAMS=1000", longEnv: "HOLDFAST_STREAMS=1000", asked: 10_000,
		bug: &bug{ // the streams end without a reason
			says: `as its last event, want the reason server-shutdown`,
			lines: []planted.Bug{
				{In: "stream.Hub.shutdown", Old: "h.stop(endShutdown)", Wrong: "_ = endShutdown"},
			},
		},
	},
	storm("two nodes with Redis", "HOLDFAST_STORM_NODES=2"),
	storm("two nodes without Redis", "HOLDFAST_STORM_NODES=2 HOLDFAST_STORM_REDIS=off"),
	storm("three nodes with Redis", "HOLDFAST_STORM_NODES=3"),
	storm("three nodes without Redis", "HOLDFAST_STORM_NODES=3 HOLDFAST_STORM_REDIS=off"),
	{
		name: "histories of two nodes under faults", unit: "passes", pkg: "./store/postgres",
		run: "^TestHistoriesUnderFaults$", longEnv: "HOLDFAST_HISTORIES=100", onlyLong: true,
	},
	{
		name: "64 clients try to double-book, on this disk", unit: "booked", program: []string{"torture", "--for"},
		counted: `(\d+) booked`,
		bug: &bug{ // the holds and the database both prevent the overlap, so both must be broken
			says: `is double-booked at`,
			lines: []planted.Bug{
				{In: "memory.firstFree", Old: "c.Span) {",
					Wrong: "c.Span) || r.AppointmentTypeID != c.AppointmentTypeID {"},
				{In: "store/sqlite/migrations/0001_first.sql",
					Old: "CREATE TRIGGER appointments_guarantee_insert\nBEFORE INSERT ON appointments\n" +
						"WHEN NEW.status = 'confirmed' AND NEW.overbook = 0",
					Wrong: "CREATE TRIGGER appointments_guarantee_insert\nBEFORE INSERT ON appointments\n" +
						"WHEN NEW.status = 'confirmed' AND NEW.overbook = 2"},
			},
		},
	},
	{
		name: "fuzz: tokens", unit: "inputs", pkg: "./engine/token", fuzz: "FuzzTokens",
		bug: &bug{
			says: `but only issued tokens may be accepted`,
			lines: []planted.Bug{
				{In: "token.Keyring.signedBookingAuth", Old: ":= false", Wrong: ":= true"},
			},
		},
	},
	{
		name: "fuzz: mutations of a token", unit: "inputs", pkg: "./engine/token", fuzz: "FuzzMutation",
		bug: &bug{
			says: `is accepted as well as`,
			lines: []planted.Bug{
				{In: "token.Keyring.open", Old: "signer.mac(p, body)[:macSize]", Wrong: "sum"},
			},
		},
	},
	{
		name: "fuzz: key files", unit: "inputs", pkg: "./engine/token", fuzz: "FuzzParseKeyring",
		bug: &bug{
			says: `changes when it is written and read again`,
			lines: []planted.Bug{
				{In: "token.ParseKeyring", Old: "k.keys, each", Wrong: "[]key{each}, k.keys..."},
			},
		},
	},
	{
		name: "fuzz: upstream answers", unit: "inputs", pkg: "./engine/upstream", fuzz: "FuzzAnswer",
		bug: &bug{
			says: `got a yes`,
			lines: []planted.Bug{
				{In: "upstream.judge", Old: "200 && status < 300", Wrong: "200"},
			},
		},
	},
	{
		name: "fuzz: its times", unit: "inputs", pkg: "./engine/upstream", fuzz: "FuzzParseTime",
		bug: &bug{
			says: `after writing and reading`,
			lines: []planted.Bug{
				{In: "upstream.FormatTime", Old: "01/02/2006", Wrong: "02/01/2006"},
			},
		},
	},
	{
		name: "fuzz: holiday files", unit: "inputs", pkg: "./engine/ical", fuzz: "FuzzHolidays",
		bug: &bug{
			says: `\d+ is \{.*\} of \[`,
			lines: []planted.Bug{
				{In: "ical.holidayParser.end", Old: "= e.From", Wrong: "= e.From.AddDays(-1)"},
				{In: "ical.holidayParser.end", Old: "e.To.Before(e.From)", Wrong: "false"},
			},
		},
	},
	{
		name: "fuzz: calendar texts", unit: "inputs", pkg: "./engine/ical", fuzz: "FuzzWriter",
		bug: &bug{
			says: `\d quotes in`,
			lines: []planted.Bug{
				{In: "ical.parameter", Old: "strings.ReplaceAll(value, `\"`, \"'\")", Wrong: "value"},
			},
		},
	},
	{
		name: "fuzz: zones", unit: "inputs", pkg: "./engine/availability", fuzz: "FuzzLoadZone",
		bug: &bug{
			says: `was loaded, but is not a zone`,
			lines: []planted.Bug{
				{In: "availability.LoadZone", Old: `Local", "localtime", "posixrules", "posix`, Wrong: "posix"},
			},
		},
	},
	{
		name: "fuzz: dates", unit: "inputs", pkg: "./store", fuzz: "FuzzParseDate",
		bug: &bug{
			says: `but its String is`,
			lines: []planted.Bug{
				{In: "store.ParseDate", Old: "DateOf(t)", Wrong: "DateOf(t.AddDate(0, 0, 1))"},
			},
		},
	},
	{
		name: "fuzz: times of day", unit: "inputs", pkg: "./store", fuzz: "FuzzParseTimeOfDay",
		bug: &bug{
			says: `whose String is`,
			lines: []planted.Bug{
				{In: "store.ParseTimeOfDay", Old: "m > 59 || h", Wrong: "h"},
			},
		},
	},
	{
		name: "fuzz: cursors", unit: "inputs", pkg: "./store", fuzz: "FuzzParseCursor",
		bug: &bug{
			says: `and a second time`,
			lines: []planted.Bug{
				{In: "store.ParseCursor", Old: "time.UnixMilli(ms)", Wrong: "time.UnixMilli(ms + 1)"},
			},
		},
	},
	{
		name: "fuzz: calendars of specialists", unit: "inputs", pkg: "./engine/ical", fuzz: "FuzzBusy",
		bug: &bug{
			says: `busy from .*, which is \d+ of`,
			lines: []planted.Bug{
				{In: "ical.join", Old: "!s.Start.After(out[last].End)", Wrong: "s.Start.Before(out[last].Start)"},
			},
		},
	},
	{
		name: "fuzz: answers of booking rules", unit: "inputs", pkg: "./engine/rule", fuzz: "FuzzRead",
		bug: &bug{
			says: `accepted .* with ""`,
			lines: []planted.Bug{
				{In: "rule.read", Old: `a.Decision != "allow"`, Wrong: `a.Decision != "" && a.Decision != "allow"`},
			},
		},
	},
	{
		name: "fuzz: cells of tables", unit: "inputs", pkg: "./engine/sheet", fuzz: "FuzzGuard",
		bug: &bug{
			says: `starts a formula at`,
			lines: []planted.Bug{
				{In: "sheet.Guarded", Old: "$1$2'$3", Wrong: "$1$2$3"},
			},
		},
	},
	{name: "fuzz: settings files", unit: "inputs", pkg: "./cli", fuzz: "FuzzFileOfSettings", onlyLong: true},
	{name: "fuzz: bodies", unit: "inputs", pkg: "./web", fuzz: "FuzzBodies", onlyLong: true},
	{name: "fuzz: targets", unit: "inputs", pkg: "./web", fuzz: "FuzzTargets", onlyLong: true},
}

// storm returns a row that injects one fault after another into the nodes: 37 kinds with Redis, 20 without. Each of
// these rows takes 15 to 20 minutes, so all of them together take about an hour.
func storm(name, env string) row {
	return row{
		name: "storm: " + name, unit: "faults", pkg: "./cli", run: "^TestTwoNodesUnderFaults$",
		counted: `(\d+) faults struck`, asked: 80, onlyLong: true, build: ".ci/steppable",
		longEnv: "HOLDFAST_FAULTS=20 HOLDFAST_STORM_EVERY=6s HOLDFAST_STORM_CLOCKS=on HOLDFAST_STORM_SEED={seed} " +
			env,
	}
}

// unasked repeats an upstream write that may have arrived, without looking it up first.
var unasked = &bug{
	says: `the practice system has \S+ [2-9] times|the practice system has [2-9], want [01]`,
	lines: []planted.Bug{
		{In: "practice.Practice.attemptWrite", Old: `patient != "" && (op.Unknown || pr.mayBeWritten(op, &p))`,
			Wrong: "false"},
	},
}

// undoneBatch acknowledges writes that arrive eight at a time, and undoes them.
var undoneBatch = &bug{
	says: `was acknowledged and is missing`,
	lines: []planted.Bug{
		{In: "sqlite.writer.commit", Old: `"COMMIT"`, Wrong: `[]string{"COMMIT", "ROLLBACK"}[min(len(w.batch)/8, 1)]`},
	},
}
