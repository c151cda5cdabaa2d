package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/record"
)

// retentionSettings returns the rows of the settings table about how long old data is stored. The defaults are those of
// record.Retention.
func retentionSettings() []setting {
	row := func(name, fallback, value, help, more string, to func(*record.Retention) *time.Duration) setting {
		return setting{
			name: name, fallback: fallback, audience: forServing, group: "Retention", value: value, help: help,
			more: more, set: func(c *config, v string) (err error) { *to(&c.keep), err = parseDays(v); return err },
		}
	}
	return []setting{
		row("keep-sign-ins", "7d", "DAYS", "how long to keep expired staff sign-ins", "",
			func(r *record.Retention) *time.Duration { return &r.SignIns }),
		row("keep-records", "400d", "DAYS", "how long to keep ended sessions, deliveries and the presence log", "",
			func(r *record.Retention) *time.Duration { return &r.Records }),
		row("keep-operations", "30d", "DAYS", "how long to keep delivered operations in the queue",
			"The queue keeps at most the newest 10,000. Failed operations stay until a person resolves them.",
			func(r *record.Retention) *time.Duration { return &r.Operations }),
	}
}

func parseDays(v string) (time.Duration, error) {
	text, found := strings.CutSuffix(v, "d")
	n, err := strconv.Atoi(text)
	if !found || err != nil || n < 1 || n > 36_500 {
		return 0, fmt.Errorf("%q must be between 1d and 36500d, such as 30d", v)
	}
	return time.Duration(n) * 24 * time.Hour, nil
}
