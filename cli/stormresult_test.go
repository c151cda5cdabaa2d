package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// stormResults holds, by fault, the recovery times of all storms on one setup, and the longest waits on unaffected
// nodes.
type stormResults struct {
	Recovered map[string][]time.Duration
	Waited    map[string]time.Duration
}

// addEarlier adds the recovery times of this storm to those of earlier storms in a file, and stores the result in s.
// Storms on several setups share the file.
func (s *storm) addEarlier(file string) error {
	if file == "" {
		return nil
	}
	all := map[string]stormResults{}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &all); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	setup := fmt.Sprintf("%d nodes, Redis: %t", len(s.nodes.all), s.withRedis)
	for fault, list := range all[setup].Recovered {
		s.recovered[fault] = append(list, s.recovered[fault]...)
		s.waited[fault] = max(s.waited[fault], all[setup].Waited[fault])
	}
	all[setup] = stormResults{s.recovered, s.waited}
	if text, err = json.MarshalIndent(all, "", "\t"); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
