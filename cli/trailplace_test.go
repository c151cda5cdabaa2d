package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store/sqlite"
)

// TestWhatIsPastItsDaysGoesBeforeATrailIsBegun: a place that is full would else stay so.
func TestWhatIsPastItsDaysGoesBeforeATrailIsBegun(t *testing.T) {
	t.Parallel()
	second := t.TempDir()
	f := following(t, clinicDir(t))
	f.copied.Store(new(time.Time))
	k := f.newTrailKeeper(f.store.(*sqlite.Store), backupPlan{second: second, keep: backupKeep{days: 1}})
	defer k.pages.Close()
	for n := range 5 {
		dir := filepath.Join(second, trailName(n, k.mark))
		step := filepath.Join(dir, stepName(0, false))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(step, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		made := time.Now().AddDate(0, 0, n-20)
		if err := os.Chtimes(step, made, made); err != nil {
			t.Fatal(err)
		}
	}
	// A file in the place of the next trail stands for every reason for which it cannot be begun.
	inTheWay := filepath.Join(second, trailName(5, k.mark))
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	left := func() (numbers []int) {
		for _, each := range trailsOf(t, second) {
			numbers = append(numbers, each.number)
		}
		return numbers
	}
	if err := k.follow(t.Context(), time.Now()); err == nil || !strings.Contains(err.Error(), inTheWay) {
		t.Errorf("got %v, want an error that names %s", err, inTheWay)
	}
	if got := left(); !slices.Equal(got, []int{2, 3, 4}) {
		t.Errorf("left are %v, want the three newest", got)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	if err := k.follow(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := left(); !slices.Equal(got, []int{3, 4, 5}) {
		t.Errorf("left are %v, want the new one and the two before", got)
	}
}
