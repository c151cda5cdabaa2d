package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

func whyCommand(p process) *cobra.Command {
	var kind, at, specialist string
	c := &cobra.Command{
		Use:   "why --type ID --at 2026-11-23T09:30:00Z",
		Short: "Say why a time can or cannot be booked, for each specialist",
		Long:  "Asks the server that listens on --listen why one time of an appointment type can or cannot be booked, and says it in a sentence per specialist.",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if _, err := time.Parse(time.RFC3339, at); err != nil || kind == "" {
				return usageError{errors.New("name the appointment type with --type and the start with --at, such as 2026-11-23T09:30:00Z or 2026-11-23T10:30:00+01:00")}
			}
			return why(c.Context(), p.stdout, "http://"+reachable(cfg.listen), kind, at, specialist)
		},
	}
	c.Flags().StringVar(&kind, "type", "", "id of the appointment type")
	c.Flags().StringVar(&at, "at", "", "start, in RFC 3339 with any offset")
	c.Flags().StringVar(&specialist, "specialist", "", "only this specialist")
	defineSettings(c, forCalling)
	return c
}

// sentences are the reasons of the explain route in words.
var sentences = map[string]string{
	"":                 "can be booked",
	"inactive":         "is not bookable: the appointment type or the specialist is switched off",
	"too_soon":         "is too soon: it lies before the minimum notice, or in the past",
	"too_far":          "is too far ahead: it lies past the horizon of the appointment type",
	"override_closed":  "is closed that day by an override",
	"outside_hours":    "does not work then: the time does not fit into the opening hours",
	"not_a_slot_start": "works then, but no slot starts at this minute",
	"taken":            "is taken by a booked appointment",
	"held":             "is being booked by somebody right now",
}

func why(ctx context.Context, w io.Writer, base, kind, at, specialist string) error {
	ask := url.Values{"slotStartDate": {at}}
	if specialist != "" {
		ask.Set("specialistId", specialist)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v1/appointment-types/"+url.PathEscape(kind)+"/explain?"+ask.Encode(), nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("no answer from %s: %w. Is the server running, and is --listen the same here and there?", base, err)
	}
	defer answer.Body.Close()
	var said struct {
		Detail      string
		Specialists []struct {
			SpecialistID, Reason, HeldUntil string
		}
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&said); err != nil {
		return fmt.Errorf("the answer of %s cannot be read: %w", base, err)
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(said.Detail)
	}
	for _, s := range said.Specialists {
		sentence, known := sentences[s.Reason]
		if !known {
			sentence = "cannot be booked: " + s.Reason
		}
		if s.HeldUntil != "" {
			sentence += ", until " + s.HeldUntil + " unless it is renewed"
		}
		if _, err := fmt.Fprintf(w, "%s %s\n", s.SpecialistID, sentence); err != nil {
			return err
		}
	}
	return nil
}
