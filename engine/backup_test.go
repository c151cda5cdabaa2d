package engine_test

import (
	"errors"
	"testing"

	"holdfast/engine"
	"holdfast/engine/enginetest"
)

func TestBackupAgeMetric(t *testing.T) {
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	if _, err := c.LastBackup(); !errors.Is(err, engine.ErrNoBackup) {
		t.Errorf("got %v, want ErrNoBackup", err)
	}
}
