package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"holdfast/store"
	"holdfast/web/simulation/referee"
)

// check runs after every action. It checks the changed rows, the holds and the streams. Once a day, it checks
// everything.
func (l *life) check() error {
	if l.fatal != nil {
		return fmt.Errorf("the storage failed permanently: %w", l.fatal)
	}
	if err := l.receiver.judged(); err != nil {
		return err
	}
	all := time.Since(l.checked) > 24*time.Hour
	if err := l.checkRows(all); err != nil {
		return err
	}
	if l.faults.isOff() {
		return nil // the next action restarts the server
	}
	if err := l.checkAttempts(); err != nil {
		return err
	}
	if err := l.checkTexts(); err != nil {
		return err
	}
	a, err := l.asks(&request{method: "GET", path: "/v1/holds", admin: true, check: true})
	if err != nil || a.status != 200 {
		return nil // the power is off
	}
	var said struct{ Holds []holdJSON }
	if err := a.into(&said); err != nil {
		return err
	}
	var list []referee.Hold
	for i := range said.Holds {
		// the waiting list holds the times that it has offered; judgeList checks them
		if said.Holds[i].AppointmentTypeID != "scarce" {
			list = append(list, said.Holds[i].of(""))
		}
	}
	l.ReviewProposals(time.Now())
	if err := l.Listed(list, time.Now()); err != nil {
		return err
	}
	for _, r := range l.readers {
		if err := r.agrees(l, list); err != nil {
			return err
		}
	}
	if !all {
		return nil
	}
	r := rand.New(rand.NewPCG(l.seed, uint64(l.requests)))
	for _, kind := range []string{"checkup", "surgery", "class", "cooling", "night", "scan"} {
		for _, specialist := range sorted(l.Types[kind].Priorities) {
			if err := l.listKind(r, kind, specialist); err != nil {
				return err
			}
		}
	}
	found, err := l.engine.Differences(context.Background())
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("memory differs from the database: %v", found)
	}
	return err
}

// checkRows reads the database directly: the rows changed in the last five minutes, or all rows.
func (l *life) checkRows(all bool) error {
	since := int64(0)
	if !all {
		since = time.Now().Add(-5 * time.Minute).UnixMilli()
	} else {
		l.checked = time.Now()
	}
	rows, err := l.rows.Query(`SELECT id, appointment_type_id, specialist_id, slot_start, slot_end, seat, overbook, status, source, patient_name,
			intake FROM appointments
		WHERE updated_at >= ? OR created_at >= ? ORDER BY slot_start`, since, since)
	if err != nil {
		return err
	}
	defer rows.Close()
	var found []referee.Row
	for rows.Next() {
		var row referee.Row
		var start, end int64
		var status, source, intake string
		if err := rows.Scan(&row.ID, &row.Type, &row.Specialist, &start, &end, &row.Seat, &row.Overbook, &status,
			&source, &row.Name, &intake); err != nil {
			return err
		}
		for _, answer := range store.Unpacked[store.Intake](intake).Answers {
			row.Answer += answer.Value
		}
		row.Start, row.End, row.Cancelled = time.UnixMilli(start).UTC(), time.UnixMilli(end).UTC(),
			status == "cancelled"
		if source == "agent" && row.Cancelled && l.Appointments[row.ID] == nil {
			continue // the row that held the time for an agent's booking that failed
		}
		found = append(found, row)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return l.Recorded(found, all)
}

// attemptEnds is the longest time until the queue must have the outcome of an attempt. It covers an attempt's longest
// calls, and the retries to store its outcome while the disk is full.
const attemptEnds = 2 * time.Minute

// checkAttempts checks that no operation stays in the status processing. After a restart, the time counts from the
// start of the server, because no attempt was running while the power was off.
func (l *life) checkAttempts() error {
	list, err := l.queue.Operations(context.Background(),
		store.OperationFilter{Status: store.OperationProcessing, Limit: 500})
	if err != nil {
		return err
	}
	for i := range list {
		took := min(time.Since(list[i].AttemptedAt), time.Since(l.opened))
		if took > attemptEnds {
			return fmt.Errorf("operation %s, %s, has been processing for %v; an attempt takes at most %v", list[i].ID,
				list[i].Kind, took.Round(time.Second), attemptEnds)
		}
		l.counts["longest attempt, seconds"] = max(l.counts["longest attempt, seconds"], int(took.Seconds()))
	}
	return nil
}

// checkMail checks that every patient who booked on a page and did not cancel has received an email.
func (l *life) checkMail() error {
	files, err := filepath.Glob(filepath.Join(l.base, "mail", "*.eml"))
	if err != nil {
		return err
	}
	to := map[string]int{}
	address := regexp.MustCompile(`(?m)^To: .*?(jo[0-9]+@example\.org)`)
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if m := address.FindSubmatch(b); m != nil {
			to[string(m[1])]++
		}
	}
	for id, email := range l.mailed {
		if a := l.Appointments[id]; !a.Cancelled && to[email] == 0 {
			return fmt.Errorf("%s was booked with an email address, but there is no email in %d operations", a, len(files))
		}
	}
	l.counts["mails"] = len(files)
	return nil
}

func (l *life) loseRequest(*rand.Rand) error { l.wire.loseAsked.Store(1); return nil }
func (l *life) loseReply(*rand.Rand) error   { l.wire.loseReply.Store(1); return nil }

func (l *life) fullDisk(r *rand.Rand) error {
	l.shaken = time.Now().Add(5 * time.Minute) // by then, the last of these writes has failed
	l.faults.setFull(1 + r.IntN(4))
	return nil
}

// cutPower cuts the power at one of the next steps.
func (l *life) cutPower(r *rand.Rand) error {
	l.faults.arm(1+r.IntN(6), r.IntN(2) == 0)
	return nil
}

// restart stops the server as SIGTERM does, and starts it again.
func (l *life) restart(*rand.Rand) error {
	l.closeReaders()
	l.stop()
	if err := l.close(); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return l.reopen(l.dir)
}

// noInternet makes the practice-management system unreachable for 10 to 209 minutes: either no call is sent, or no
// response returns.
func (l *life) noInternet(r *rand.Rand) error {
	until := time.Now().Add(time.Duration(10+r.IntN(200)) * time.Minute)
	l.faults.mu.Lock()
	defer l.faults.mu.Unlock()
	l.trouble = append(l.trouble, span{time.Now(), until})
	if r.IntN(2) == 0 {
		l.faults.cut = until
	} else {
		l.faults.dead = until
	}
	return nil
}
