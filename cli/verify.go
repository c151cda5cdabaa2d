package cli

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/store"
	"holdfast/store/backup"
)

func verifyCommand(p process) *cobra.Command {
	var asJSON *bool
	var noted string
	var live bool
	c := &cobra.Command{
		Use:   "verify [BACKUP]",
		Short: "Verify the integrity of the database or a backup",
		Long: "Verifies the database in the data directory, whether or not the server is running: no appointments\n" +
			"overlap, all references exist, the indexes and the file are intact, and the audit log is unchanged.\n" +
			"With an argument, the command verifies that backup instead.\n" +
			"The command prints the last link of the audit chain. Store it on another machine: with --audit-link,\n" +
			"a later run proves that the log up to that link is unchanged. Exits with 1 if it finds a problem.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) <= 1 {
				return nil
			}
			return oneArgument("the directory of a backup")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if _, err := parseLink(noted); noted != "" && err != nil {
				return usageError{fmt.Errorf("--audit-link: %w", err)}
			}
			if live && len(args) == 1 {
				return usageError{errors.New("--live applies to a running server, not to a backup")}
			}
			subject, found := "the database in "+cfg.data, checkBody{}
			if len(args) == 1 {
				subject = "the backup " + args[0]
				err = p.watched(c.Context(), func(ctx context.Context) (err error) {
					found.AuditLink, err = verifyBackup(ctx, args[0], noted)
					return about(subject, err)
				})
			} else {
				found, err = p.verifyDatabase(c.Context(), cfg, subject, checkOrder{noted, live})
			}
			if *asJSON {
				verdict := verdictBody{Subject: subject, Sound: err == nil, checkBody: found}
				if err != nil {
					verdict.Problem = err.Error()
				}
				verdict.Overlaps = append([]overlapBody{}, overlapsOf(err)...)
				return errors.Join(err, printJSON(p.stdout, verdict))
			}
			if err != nil {
				return err
			}
			return found.print(p.stdout, subject, live)
		},
	}
	asJSON = jsonFlag(c)
	c.Flags().StringVar(&noted, "audit-link", "",
		"link printed by an earlier verify, which the audit chain must still contain")
	c.Flags().BoolVar(&live, "live", false,
		"also compare the running server's memory and queue with the database")
	defineSettings(c, forData)
	return c
}

// verifyDatabase verifies the database in the data directory, on the running server if there is one.
func (p process) verifyDatabase(ctx context.Context, cfg config, subject string, order checkOrder) (found checkBody,
	err error) {
	with := p.withQueue // opens the queue too: its file contains the marker, which is compared with the database
	if order.Live {
		with = p.withServer
	}
	err = with(ctx, cfg, func(ctx context.Context, admin *adminClient) error {
		return about(subject, p.watchedAt(ctx, admin, func(ctx context.Context) error {
			return admin.call(ctx, http.MethodPost, "/local/check", order, &found)
		}))
	})
	return found, err
}

// about adds the subject of a check to its error.
func about(subject string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	return nil
}

// print writes the result for a person.
func (b *checkBody) print(out io.Writer, subject string, live bool) error {
	_, err := fmt.Fprintf(out, "%s is intact\n0 overlaps\naudit chain unbroken; its last link is %s\n", subject,
		b.AuditLink)
	if live {
		_, _ = fmt.Fprintln(out,
			"the server's memory matches the database, and its queue contains every operation in the outbox")
	}
	for _, file := range b.Damaged {
		_, _ = fmt.Fprintln(out, damagedWords(file))
	}
	return err
}

// verdictBody is the output of verify --json, regardless of the result.
type verdictBody struct {
	Subject string `json:"subject"`
	Sound   bool   `json:"sound"`
	Problem string `json:"problem,omitempty"`
	// Overlaps are the pairs of appointments that break the guarantee. The list is present even if it is empty. If the
	// database could not be read, Problem contains the reason.
	Overlaps []overlapBody `json:"overlaps"`
	checkBody
}

// overlapBody is one pair of appointments that break the guarantee.
type overlapBody struct {
	Of           string    `json:"of"` // specialist or resource
	ID           string    `json:"id"`
	At           string    `json:"at"`
	Appointments [2]string `json:"appointments"`
}

// overlapsOf lists the overlaps in the error of a check by this process or by a server.
func overlapsOf(err error) (list []overlapBody) {
	var refused *problem
	if errors.As(err, &refused) {
		return refused.Overlaps
	}
	for _, o := range store.Overlaps(err) {
		list = append(list, overlapBody{o.Of, o.ID, o.At.Format(time.RFC3339), o.Appointments})
	}
	return list
}

// checkOrder is the body of POST /local/check.
type checkOrder struct {
	AuditLink string `json:"auditLink,omitempty"` // a link that must exist
	Live      bool   `json:"live,omitempty"`      // compare the server's memory with the database
}

// checkBody is the result of a check that found no problem in the database.
type checkBody struct {
	Damaged   []string `json:"damaged,omitempty"`   // queue files that were moved aside
	AuditLink string   `json:"auditLink,omitempty"` // the last link
}

// check handles POST /local/check.
func (h *house) check(w http.ResponseWriter, r *http.Request) {
	var order checkOrder
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&order); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	last, err := checkStore(store.WithProgress(r.Context(), h.progress.begin), h.store, order.AuditLink)
	if err != nil {
		refuse(w, http.StatusConflict, h.withRemedy(err))
		return
	}
	if order.Live {
		differences, err := h.engine.Differences(r.Context())
		if err == nil && len(differences) > 0 {
			err = fmt.Errorf("the server's memory or queue differs from the database; restart the server:\n%s", strings.Join(differences, "\n"))
		}
		if err != nil {
			refuse(w, http.StatusConflict, err)
			return
		}
	}
	answer(w, checkBody{h.dir.damagedQueues(), last})
}

// verifyBackup checks a copy of the backup. The backup itself does not change.
func verifyBackup(ctx context.Context, path, noted string) (link string, err error) {
	err = backup.Verify(ctx, path, func(ctx context.Context, s store.Store) (err error) {
		link, err = checkStore(ctx, s, noted)
		return err
	})
	return link, err
}

// checkStore checks every guarantee of a store. If noted is not empty, the audit chain must contain that link.
// checkStore returns the last link.
func checkStore(ctx context.Context, s store.Store, noted string) (link string, err error) {
	if err := s.Check(ctx); err != nil {
		return "", err
	}
	if noted != "" {
		want, err := parseLink(noted)
		if err != nil {
			return "", err
		}
		got, err := s.ChainLink(ctx, want.Position)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
		if got != want {
			return "", fmt.Errorf(
				"audit: the chain does not contain %s: it was truncated before that link, or rewritten", noted)
		}
	}
	last, err := s.ChainLink(ctx, 0)
	return fmt.Sprintf("%d:%x", last.Position, last.Hash), err
}

// parseLink parses a link as verify prints it: its position and its hash.
func parseLink(text string) (link store.ChainHead, err error) {
	position, hash, _ := strings.Cut(text, ":")
	link.Position, err = strconv.ParseInt(position, 10, 64)
	sum, unread := hex.DecodeString(hash)
	if err != nil || unread != nil || link.Position < 1 || copy(link.Hash[:], sum) != len(link.Hash) ||
		len(sum) != len(link.Hash) {
		return link, fmt.Errorf("%q is not a valid audit link: a link is a position, a colon and 64 hexadecimal digits", text)
	}
	return link, nil
}
