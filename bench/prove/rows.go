package main

// rows is the table, in the order in which it is printed. A row runs what is there already: a test, a fuzz target or the program itself.
var rows = []row{
	{
		name: "simulated clinic, every promise after every action", unit: "actions", pkg: "./web/simulation", run: "^TestSimulatedClinic$",
		counted: `(\d+) actions in`, args: []string{"-seed", "{seed}", "-seeds", "1"}, long: []string{"-seed", "{seed}", "-seeds", "1", "-days", "3"}, asked: 120_000, // a thousand clinics of a day
		bug: &bug{
			file: "holds/memory/hold.go", says: `has 4 holds, and 3 may be`,
			lines: []change{{
				"	if c.Quota > 0 && own.others(&id, &c, resources.victims, now.mono) >= c.Quota {",
				"	if c.Quota > 0 && own.others(&id, &c, resources.victims, now.mono) > c.Quota {",
			}},
		},
	},
	{
		name: "kill -9 of the server under agents and visitors, SQLite", unit: "kills", pkg: "./cli", run: "^TestKillLosesNothingAndBooksNothingTwice$/^SQLite$",
		counted: `(\d+) kills\n`, env: "HOLDFAST_KILLS=6 HOLDFAST_KILL_SEED={seed}", longEnv: "HOLDFAST_KILLS=100 HOLDFAST_KILL_SEED={seed}", asked: 10_000,
		bug: &bug{ // what was promised, and not handed over yet when the process was killed, is not looked for at the next start
			file: "engine/outbound/outbox.go", says: `is pending here and \d times upstream`,
			lines: []change{{`	return out.reconcile(ctx, "", out.started, out.Options.QueueRebuilt)`, "	return nil"}},
		},
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
		bug: unasked,
	},
	{
		name: "one appointment upstream, replies lost", unit: "bookings", pkg: "./engine", run: "^TestSimulation$", counted: `(\d+) bookings,`,
		args: []string{"-bookings", "300", "-seed", "{seed}"}, long: []string{"-bookings", "10000", "-seed", "{seed}"}, asked: 1_000_000,
		bug: unasked,
	},
	{
		name: "disk full during a delivery, outcome stored afterwards", unit: "passes", pkg: "./engine", run: "^TestFullDiskLeavesNoOperationProcessing$", asked: 200,
		bug: &bug{
			file: "engine/outbound/operation.go", says: `after the disk has room: got .*; want none processing`,
			lines: []change{{"		out.unsaved.wakeUps.wake()", "		_ = u"}},
		},
	},
	{
		name: "order of one appointment under clocks that differ", unit: "passes", pkg: "./engine", run: "^TestOperationOrderIgnoresClocks$", asked: 200,
		bug: &bug{
			file: "engine/outbound/order.go", says: `the cancellation waits for the booking`,
			lines: []change{{"	return o[a] < o[b]", "	return a < b"}},
		},
	},
	{
		name: "histories of one slot, linearizable", unit: "histories", pkg: "./engine", run: "^TestASlotIsAnsweredAsIfOneAfterTheOther$", counted: `(\d+) histories`,
		args: []string{"-histories", "1200", "-seed", "{seed}"}, asked: 100_000,
		bug: &bug{
			file: "engine/occupancy/appointment.go", says: `of one slot is Illegal`,
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
		bug: &bug{
			file: "web/stream/fanout.go", says: `streams are left 5 s after the first event`,
			lines: []change{{"		if err := s.conn.write(rest, h.options.WriteTimeout); err != nil {", "		if err := s.conn.write(rest, 100*h.options.WriteTimeout); err != nil {"}},
		},
	},
	{
		name: "every zone, every change of its clocks over two years", unit: "changes", pkg: "./engine/availability", run: "^TestEveryZoneAtEveryChangeOfClocks$",
		counted: `(\d+) changes of clocks`,
		bug: &bug{
			file: "engine/availability/availability_window.go", says: `\d{4}-\d\d-\d\d, \[\{.*\}\]:\n\s*got \[\d.*\]\n\s*want \[\d`,
			lines: []change{{"		z.lo = max(z.lo, start+before)", "		z.lo = min(z.lo, start+before)"}},
		},
	},
	{
		name: "malformed requests on every route", unit: "requests", pkg: "./web", run: "^TestMalformedRequests$", counted: `(\d+) malformed`, asked: 10_000,
		bug: &bug{
			file: "web/body.go", says: `answered 500`,
			lines: []change{{`		return errMalformedBody.with("The body is not UTF-8. Send the text in UTF-8.")`, `		panic("a body that is not UTF-8")`}},
		},
	},
	{
		name: "nothing personal in logs, metrics and answers", unit: "passes", pkg: "./web", run: "^TestNothingPersonalLeaks$",
		bug: &bug{
			file: "web/call.go", says: `the log says`,
			lines: []change{{
				`	all := []slog.Attr{slog.String("method", c.method()), slog.String("route", c.route.pattern),`,
				`	all := []slog.Attr{slog.String("method", c.method()), slog.String("route", c.r.URL.String()),`,
			}},
		},
	},
	{
		name: "one node without Redis, without PostgreSQL or stopped: no time given twice", unit: "faults", pkg: "./holds/home",
		run: "^TestOneNodesFaultGivesNoTimeTwice$", counted: `(\d+) faults,`, env: "HOLDFAST_HOME_FAULTS=24", longEnv: "HOLDFAST_HOME_FAULTS=600", asked: 2_000,
		bug: &bug{ // a node that wakes changes what was copied before
			file: "holds/redis/lua/under.lua", says: `was given while .* is held until|is gone before its time`,
			lines: []change{{
				"if under ~= '' and redis.call('GET', 'holdfast:epoch') ~= under then return redis.error_reply('EPOCH live state has moved') end",
				"if under == 'planted' then return redis.error_reply('EPOCH live state has moved') end",
			}},
		},
	},
	{
		name: "two nodes, one fault after another", unit: "passes", pkg: "./cli", run: "^TestTwoNodesUnderFaults$", longEnv: "HOLDFAST_FAULTS=120", onlyLong: true,
	},
	{
		name: "histories of two nodes under faults", unit: "passes", pkg: "./store/postgres", run: "^TestHistoriesUnderFaults$", longEnv: "HOLDFAST_HISTORIES=100", onlyLong: true,
	},
	{
		name: "64 clients try to double-book, on this disk", unit: "booked", program: []string{"torture", "--for"}, counted: `(\d+) booked`,
		bug: &bug{ // the holds keep two apart, and so does the database: it takes both to be wrong
			file: "holds/memory/hold.go", says: `is double-booked at`,
			lines: []change{{
				"			if !counts(r) || !r.Conflicts(&c.Span) {",
				"			if !counts(r) || !r.Conflicts(&c.Span) || r.AppointmentTypeID != c.AppointmentTypeID {",
			}},
			also: &bug{
				file: "store/sqlite/migrations/0001_first.sql",
				lines: []change{{
					"CREATE TRIGGER appointments_guarantee_insert\nBEFORE INSERT ON appointments\nWHEN NEW.status = 'confirmed' AND NEW.overbook = 0",
					"CREATE TRIGGER appointments_guarantee_insert\nBEFORE INSERT ON appointments\nWHEN NEW.status = 'confirmed' AND NEW.overbook = 2",
				}},
			},
		},
	},
	{
		name: "fuzz: tokens", unit: "executions", pkg: "./engine/token", fuzz: "FuzzTokens",
		bug: &bug{
			file: "engine/token/bookingauth.go", says: `accepted must be only what was issued`,
			lines: []change{{"	found := false", "	found := true"}},
		},
	},
	{
		name: "fuzz: mutations of a token", unit: "executions", pkg: "./engine/token", fuzz: "FuzzMutation",
		bug: &bug{
			file: "engine/token/booking.go", says: `is accepted beside`,
			lines: []change{{
				"	if signer == nil || !hmac.Equal(sum, signer.mac(p, body)[:macSize]) {",
				"	if signer == nil || !hmac.Equal(sum, sum) {",
			}},
		},
	},
	{
		name: "fuzz: key files", unit: "executions", pkg: "./engine/token", fuzz: "FuzzParseKeyring",
		bug: &bug{
			file: "engine/token/keyring.go", says: `does not survive writing and reading`,
			lines: []change{{"			k.keys = append(k.keys, each)", "			k.keys = append([]key{each}, k.keys...)"}},
		},
	},
	{
		name: "fuzz: answers of a practice system", unit: "executions", pkg: "./engine/upstream", fuzz: "FuzzAnswer",
		bug: &bug{
			file: "engine/upstream/call.go", says: `got a yes`,
			lines: []change{{"		case status >= 200 && status < 300:", "		case status >= 200:"}},
		},
	},
	{
		name: "fuzz: its times", unit: "executions", pkg: "./engine/upstream", fuzz: "FuzzParseTime",
		bug: &bug{
			file: "engine/upstream/time.go", says: `written and read again`,
			lines: []change{{`	return t.In(zone).Format("01/02/2006 03:04 PM")`, `	return t.In(zone).Format("02/01/2006 03:04 PM")`}},
		},
	},
	{
		name: "fuzz: holiday files", unit: "executions", pkg: "./engine/ical", fuzz: "FuzzHolidays",
		bug: &bug{
			file: "engine/ical/holiday.go", says: `\d+ is \{.*\} of \[`,
			lines: []change{{"		e.To = e.From", "		e.To = e.From.AddDays(-1)"}, {"	case e.To.Before(e.From):", "	case false:"}},
		},
	},
	{
		name: "fuzz: calendar texts", unit: "executions", pkg: "./engine/ical", fuzz: "FuzzWriter",
		bug: &bug{
			file: "engine/ical/write.go", says: `\d quotes in`,
			lines: []change{{"	value = strings.Map(dropControl, strings.ReplaceAll(value, `\"`, \"'\"))", "	value = strings.Map(dropControl, value)"}},
		},
	},
	{
		name: "fuzz: zones", unit: "executions", pkg: "./engine/availability", fuzz: "FuzzLoadZone",
		bug: &bug{
			file: "engine/availability/availability_window.go", says: `was loaded, but is not a zone`,
			lines: []change{{
				`	if fs.ValidPath(name) && !slices.Contains([]string{"Local", "localtime", "posixrules", "posix", "right"}, first) {`,
				`	if fs.ValidPath(name) && !slices.Contains([]string{"posix", "right"}, first) {`,
			}},
		},
	},
	{
		name: "fuzz: dates", unit: "executions", pkg: "./store", fuzz: "FuzzParseDate",
		bug: &bug{
			file: "store/date.go", says: `but is spelt`,
			lines: []change{{"	return DateOf(t), nil", "	return DateOf(t.AddDate(0, 0, 1)), nil"}},
		},
	},
	{
		name: "fuzz: times of day", unit: "executions", pkg: "./store", fuzz: "FuzzParseTimeOfDay",
		bug: &bug{
			file: "store/date.go", says: `which is spelt`,
			lines: []change{{"	if m > 59 || h*60+m > 1440 {", "	if h*60+m > 1440 {"}},
		},
	},
	{
		name: "fuzz: cursors", unit: "executions", pkg: "./store", fuzz: "FuzzParseCursor",
		bug: &bug{
			file: "store/search.go", says: `and made again`,
			lines: []change{{"	return time.UnixMilli(ms), id, nil", "	return time.UnixMilli(ms + 1), id, nil"}},
		},
	},
	{name: "fuzz: settings files", unit: "executions", pkg: "./cli", fuzz: "FuzzFileOfSettings", onlyLong: true},
	{name: "fuzz: bodies", unit: "executions", pkg: "./web", fuzz: "FuzzBodies", onlyLong: true},
	{name: "fuzz: targets", unit: "executions", pkg: "./web", fuzz: "FuzzTargets", onlyLong: true},
}

// unasked writes upstream again what perhaps is there, without a look.
var unasked = &bug{
	file: "engine/outbound/upstreamwrite.go", says: `is there \d times|upstream there are [2-9], want [01]`,
	lines: []change{{`	ask := patient != "" && (op.Unknown || out.mayBeWritten(op, &p))`, "	ask := false"}},
}

// undoneBatch acknowledges what came eight at a time, and undoes it.
var undoneBatch = &bug{
	file: "store/sqlite/writer.go", says: `was acknowledged and is gone`,
	lines: []change{{`	_, err = w.conn.exec("COMMIT")`, `	_, err = w.conn.exec([]string{"COMMIT", "ROLLBACK"}[min(len(w.batch)/8, 1)])`}},
}
