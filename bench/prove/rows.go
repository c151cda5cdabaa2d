package main

// rows is the table, in the order in which it is printed. A row runs what is there already: a test, a fuzz target or the program itself.
var rows = []row{
	{
		name: "simulated clinic, every promise after every action", unit: "actions", pkg: "./web/simulation", run: "^TestSimulatedClinic$",
		counted: `(\d+) actions in`, args: []string{"-seed", "{seed}", "-seeds", "1"}, long: []string{"-seed", "{seed}", "-seeds", "1", "-days", "3"}, asked: 120_000, // a thousand clinics of a day
		bug: &bug{
			file: "holds/memory/hold.go", says: `has 4 holds, and 3 may be`, long: true,
			lines: []change{{
				"	if c.Quota > 0 && own.others(&id, &c, resources.victims, now.mono) >= c.Quota {",
				"	if c.Quota > 0 && own.others(&id, &c, resources.victims, now.mono) > c.Quota {",
			}},
		},
	},
	{
		name: "kill -9 of the server under agents and visitors, SQLite", unit: "kills", pkg: "./cli", run: "^TestKillLosesNothingAndBooksNothingTwice$/^SQLite$",
		counted: `(\d+) kills\n`, env: "HOLDFAST_KILLS=6 HOLDFAST_KILL_SEED={seed}", longEnv: "HOLDFAST_KILLS=100 HOLDFAST_KILL_SEED={seed}", asked: 10_000,
	},
	{
		name: "the same, PostgreSQL", unit: "kills", pkg: "./cli", run: "^TestKillLosesNothingAndBooksNothingTwice$/^PostgreSQL$",
		counted: `(\d+) kills\n`, longEnv: "HOLDFAST_KILLS=100 HOLDFAST_KILL_SEED={seed}", asked: 1_000, onlyLong: true,
	},
	{
		name: "kill -9 of 32 writers", unit: "bookings", pkg: "./store/sqlite", run: "^TestKillLosesNothingAcknowledged$", counted: `round 2: (\d+) acknowledged`, asked: 100_000,
		bug: undoneBatch,
	},
	{
		name: "crash at the n-th write or sync", unit: "points", pkg: "./store/sqlite", run: "^TestACrashAtAnyWriteLosesNothingAcknowledged$", counted: `proved (\d+) crash`,
		env: "HOLDFAST_CRASH_POINTS=12", longEnv: "HOLDFAST_CRASH_POINTS=300", asked: 300, bug: undoneBatch,
	},
	{
		name: "power cut under the database", unit: "cuts", pkg: "./store/sqlite", run: "^TestAPowerCutLosesNothingAcknowledged$", counted: `proved (\d+) power`,
		env: "HOLDFAST_POWER_CUTS=6", longEnv: "HOLDFAST_POWER_CUTS=50", asked: 1_000, onDisk: true,
		bug: &bug{
			file: "store/sqlite/sqlite.go", says: `was acknowledged and is gone`,
			lines: []change{{`		"_pragma=synchronous(FULL)",`, `		"_pragma=synchronous(NORMAL)",`}, {`	if mode != "wal" || sync != 2 {`, `	if mode != "wal" || sync != 1 {`}},
		},
	},
	{
		name: "kill -9 of the queue", unit: "passes", pkg: "./store/bolt", run: "^TestAcknowledgedSurvivesKill$", asked: 100,
		bug: &bug{
			file: "store/bolt/operation.go", says: `was attempted: got \w+ with 0 attempts`,
			lines: []change{{"		taken.Attempts++", "		taken.Attempts += 0"}},
		},
	},
	{
		name: "power cut at every step of a write upstream", unit: "cuts", pkg: "./engine", run: "^TestPowerCutAtEveryStep$", counted: `(\d+) cuts`, asked: 1_000,
	},
	{
		name: "one appointment upstream, replies lost", unit: "bookings", pkg: "./engine", run: "^TestSimulation$", counted: `(\d+) bookings,`,
		args: []string{"-bookings", "300", "-seed", "{seed}"}, long: []string{"-bookings", "10000", "-seed", "{seed}"}, asked: 1_000_000,
		bug: &bug{
			file: "engine/outbound/upstreamwrite.go", says: `is there \d times`,
			lines: []change{{`	ask := patient != "" && (op.Unknown || out.mayBeWritten(op, &p))`, "	ask := false"}},
		},
	},
	{
		name: "histories of one slot, linearizable", unit: "histories", pkg: "./engine", run: "^TestASlotIsAnsweredAsIfOneAfterTheOther$", counted: `(\d+) histories`,
		args: []string{"-histories", "1200", "-seed", "{seed}"}, asked: 100_000,
		bug: &bug{
			file: "engine/taken/appointment.go", says: `of one slot is Illegal`,
			lines: []change{{"		if s := k.of(id); overlaps(after, s.from, s.to) {", "		if s := k.of(id); overlaps(after, s.from, s.to) && after.Seat > 0 {"}},
		},
	},
	{
		name: "live stream under a storm of claims", unit: "readers", pkg: "./web/stream", run: "^TestStreamLosesAndDoublesNothing$", counted: `(\d+) readers`,
		env: "HOLDFAST_READERS=300", longEnv: "HOLDFAST_READERS=5000",
		bug: &bug{
			file: "holds/memory/shard.go", says: `visitor \d+ (believes in|was never told of)`,
			lines: []change{{"	s.b.log.Hold(kind, reason, now.wall, &r.Hold)", "	_, _ = kind, reason"}},
		},
	},
	{
		name: "readers that never read", unit: "passes", pkg: "./web/stream", run: "^TestSlowReaderIsCutAndNobodyWaits$|^TestFellOffTheRing$", asked: 200,
	},
	{
		name: "every zone, every change of its clocks over two years", unit: "changes", pkg: "./engine/availability", run: "^TestEveryZoneAtEveryChangeOfClocks$",
		counted: `(\d+) changes of clocks`,
		bug: &bug{
			file: "engine/availability/availability_window.go", says: `(?s)got .*want `,
			lines: []change{{"		z.lo = max(z.lo, start+before)", "		z.lo = min(z.lo, start+before)"}},
		},
	},
	{
		name: "malformed requests on every route", unit: "requests", pkg: "./web", run: "^TestMalformedRequests$", counted: `(\d+) malformed`, asked: 10_000,
	},
	{
		name: "nothing personal in logs, metrics and answers", unit: "passes", pkg: "./web", run: "^TestNothingPersonalLeaks$",
	},
	{
		name: "two nodes, one fault after another", unit: "passes", pkg: "./cli", run: "^TestTwoNodesUnderFaults$", longEnv: "HOLDFAST_FAULTS=120", onlyLong: true,
	},
	{
		name: "histories of two nodes under faults", unit: "passes", pkg: "./store/postgres", run: "^TestHistoriesUnderFaults$", longEnv: "HOLDFAST_HISTORIES=100", onlyLong: true,
	},
	{name: "64 clients try to double-book, on this disk", unit: "booked", program: []string{"torture", "--for"}, counted: `(\d+) booked`},
	{name: "fuzz: tokens", unit: "executions", pkg: "./engine/token", fuzz: "FuzzTokens"},
	{name: "fuzz: mutations of a token", unit: "executions", pkg: "./engine/token", fuzz: "FuzzMutation"},
	{name: "fuzz: key files", unit: "executions", pkg: "./engine/token", fuzz: "FuzzParseKeyring"},
	{name: "fuzz: answers of a practice system", unit: "executions", pkg: "./engine/upstream", fuzz: "FuzzAnswer"},
	{name: "fuzz: its times", unit: "executions", pkg: "./engine/upstream", fuzz: "FuzzParseTime"},
	{name: "fuzz: holiday files", unit: "executions", pkg: "./engine/holiday", fuzz: "FuzzParse"},
	{name: "fuzz: calendar texts", unit: "executions", pkg: "./engine/message", fuzz: "FuzzCalendarText"},
	{name: "fuzz: zones", unit: "executions", pkg: "./engine/availability", fuzz: "FuzzLoadZone"},
	{name: "fuzz: dates", unit: "executions", pkg: "./store", fuzz: "FuzzParseDate"},
	{name: "fuzz: times of day", unit: "executions", pkg: "./store", fuzz: "FuzzParseTimeOfDay"},
	{name: "fuzz: cursors", unit: "executions", pkg: "./store", fuzz: "FuzzParseCursor"},
	{name: "fuzz: settings files", unit: "executions", pkg: "./cli", fuzz: "FuzzFileOfSettings", onlyLong: true},
	{name: "fuzz: bodies", unit: "executions", pkg: "./web", fuzz: "FuzzBodies", onlyLong: true},
	{name: "fuzz: targets", unit: "executions", pkg: "./web", fuzz: "FuzzTargets", onlyLong: true},
}

// undoneBatch acknowledges what came eight at a time, and undoes it.
var undoneBatch = &bug{
	file: "store/sqlite/writer.go", says: `was acknowledged and is gone`,
	lines: []change{{`	_, err = w.conn.exec("COMMIT")`, `	_, err = w.conn.exec([]string{"COMMIT", "ROLLBACK"}[min(len(w.batch)/8, 1)])`}},
}
