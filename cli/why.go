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
		Short: "Explain why a time can or cannot be booked",
		Long: "Explains, in one sentence per specialist, why an appointment type can or cannot be booked at a time.\n" +
			"The command works whether or not a server is running on the data directory. With --listen, it asks\n" +
			"the server at that address.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if _, err := time.Parse(time.RFC3339, at); err != nil || kind == "" {
				return usageError{
					errors.New(
						"set the appointment type with --type and the start time with --at, such as " +
							"2026-11-23T09:30:00Z or 2026-11-23T10:30:00+01:00",
					),
				}
			}
			path := explainPath(kind, at, specialist)
			if c.Flags().Changed("listen") {
				said, err := askWhy(c.Context(), "http://"+reachable(cfg.listen), path)
				if err != nil {
					return err
				}
				return said.print(p.stdout)
			}
			return p.withAdmin(c.Context(), cfg, func(ctx context.Context, admin *adminClient) error {
				var said explained
				if err := admin.call(ctx, http.MethodGet, path, nil, &said); err != nil {
					return err
				}
				return said.print(p.stdout)
			})
		},
	}
	c.Flags().StringVar(&kind, "type", "", "id of the appointment type")
	c.Flags().StringVar(&at, "at", "", "start time, such as 2026-11-23T09:00:00+01:00")
	c.Flags().StringVar(&specialist, "specialist", "", "ask only about this specialist")
	defineSettings(c, forCalling|forData)
	return c
}

// sentences maps the reasons of the explain route to text.
var sentences = map[string]string{
	"":                 "can be booked",
	"inactive":         "cannot be booked: the appointment type or the specialist is deactivated",
	"too_soon":         "cannot be booked: the time is within the minimum notice, or in the past",
	"too_far":          "cannot be booked: the time is beyond the horizon of the appointment type",
	"override_closed":  "is away at that time, because of an override or a block",
	"outside_hours":    "cannot be booked: the appointment does not fit into the opening hours",
	"not_a_slot_start": "works at that time, but no slot starts at that minute",
	"taken":            "already has an appointment at that time",
	"held":             "cannot be booked: another client is holding the time",
}

// explainPath returns the path of the explain route, for HTTP and for the admin socket.
func explainPath(kind, at, specialist string) string {
	ask := url.Values{"slotStartDate": {at}}
	if specialist != "" {
		ask.Set("specialistId", specialist)
	}
	return "/v1/appointment-types/" + url.PathEscape(kind) + "/explain?" + ask.Encode()
}

// explained is the response of the explain route.
type explained struct {
	Detail      string // detail of a refusal
	Specialists []struct {
		SpecialistID, Reason, HeldUntil string
	}
}

// askWhy requests the explanation from the server at base.
func askWhy(ctx context.Context, base, path string) (said explained, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil {
		return said, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	answer, err := client.Do(r)
	if err != nil {
		return said, fmt.Errorf("no response from %s: %w. Is the server running with the same --listen?", base, err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&said); err != nil {
		return said, fmt.Errorf("the response from %s cannot be read: %w", base, err)
	}
	if answer.StatusCode != http.StatusOK {
		return said, errors.New(said.Detail)
	}
	return said, nil
}

func (e explained) print(w io.Writer) error {
	for _, s := range e.Specialists {
		sentence, known := sentences[s.Reason]
		if !known {
			sentence = "cannot be booked: " + s.Reason
		}
		if s.HeldUntil != "" {
			sentence += ", until " + s.HeldUntil + " unless the hold is renewed"
		}
		if _, err := fmt.Fprintf(w, "%s %s\n", s.SpecialistID, sentence); err != nil {
			return err
		}
	}
	return nil
}
