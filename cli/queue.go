package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine/upstream"
	"holdfast/store"
)

// queueBody is the queue as GET /v1/queue-status returns it, and the damaged queue files.
type queueBody struct {
	Pending    int             `json:"pending"`
	Processing int             `json:"processing"`
	Completed  int             `json:"completed"`
	Failed     int             `json:"failed"`
	Scheduled  int             `json:"scheduled"`
	Operations []operationBody `json:"operations"`
	Damaged    []string        `json:"damaged,omitempty"` // queue files that were moved aside
}

type operationBody struct {
	ID          string                `json:"id"`
	Kind        store.OperationKind   `json:"kind"`
	Status      store.OperationStatus `json:"status"`
	NeedsReview bool                  `json:"needsReview"`
	Attempts    int                   `json:"attempts"`
	MaxAttempts int                   `json:"maxAttempts"`
	NextRetryAt time.Time             `json:"nextRetryAt,omitzero"`
	StartTime   string                `json:"startTime"`
	LastError   string                `json:"lastError"`
}

// inClinicZone converts all times to the clinic's zone, in RFC 3339.
func (b *queueBody) inClinicZone(ctx context.Context, admin *adminClient) error {
	var about struct {
		Clinic struct {
			Timezone string `json:"timezone"`
		} `json:"clinic"`
	}
	if err := admin.call(ctx, http.MethodGet, "/v1/clinic", nil, &about); err != nil {
		return err
	}
	zone, err := time.LoadLocation(about.Clinic.Timezone)
	if err != nil {
		return err
	}
	for i := range b.Operations {
		o := &b.Operations[i]
		if !o.NextRetryAt.IsZero() {
			o.NextRetryAt = o.NextRetryAt.In(zone)
		}
		if at, err := upstream.ParseTime(o.StartTime, zone); err == nil {
			o.StartTime = at.In(zone).Format(time.RFC3339)
		}
	}
	return nil
}

// listDamagedQueues lists the queue files that were moved aside.
func (h *house) listDamagedQueues(w http.ResponseWriter, _ *http.Request) {
	answer(w, h.dir.damagedQueues())
}

// retriedBody is the result of retrying all failed operations.
type retriedBody struct {
	Retried int `json:"retried"`
	Left    int `json:"left"` // operations that need review or are being attempted
}

// print writes the numbers, then a table of the operations.
func (b *queueBody) print(out io.Writer) error {
	_, _ = fmt.Fprintf(out, "%d waiting, %d running, %d failed, %d completed\n", b.Pending,
		b.Processing, b.Failed, b.Completed)
	if b.Scheduled > 0 {
		_, _ = fmt.Fprintf(out, "%d reminders that are due later are not listed\n", b.Scheduled)
	}
	for _, file := range b.Damaged {
		_, _ = fmt.Fprintln(out, damagedWords(file))
	}
	if len(b.Operations) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ID\tKIND\tSTATUS\tATTEMPTS\tNEXT TRY\tAPPOINTMENT\tLAST ERROR")
	for _, o := range b.Operations {
		state, next := string(o.Status), "-"
		if o.NeedsReview {
			state = "needs review"
		}
		if !o.NextRetryAt.IsZero() {
			next = o.NextRetryAt.Format(time.RFC3339)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d/%d\t%s\t%s\t%s\n", o.ID, o.Kind, state, o.Attempts,
			o.MaxAttempts, next, o.StartTime, o.LastError)
	}
	return table.Flush()
}

func queueCommand(p process) *cobra.Command {
	return groupCommand("queue", "Inspect and retry the outbound queue", queueListCommand(p), queueRetryCommand(p))
}

func queueListCommand(p process) *cobra.Command {
	var status string
	var limit int
	var asJSON *bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the queued operations",
		Long:  "Lists running, failed, waiting and completed operations, in that order. The list contains no names.",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if err := oneOf(status, "", "pending", "processing", "completed", "failed"); err != nil {
				return usageError{fmt.Errorf("--status: %w", err)}
			}
			return p.withQueue(c.Context(), cfg, func(ctx context.Context, admin *adminClient) error {
				var body queueBody
				query := url.Values{"kind": {"all"}, "status": {status}, "limit": {strconv.Itoa(limit)}}
				if err := admin.call(ctx, http.MethodGet, "/v1/queue-status?"+query.Encode(), nil, &body); err != nil {
					return err
				}
				if err := body.inClinicZone(ctx, admin); err != nil {
					return err
				}
				if err := admin.call(ctx, http.MethodGet, "/local/damaged-queues", nil, &body.Damaged); err != nil {
					return err
				}
				if *asJSON {
					return printJSON(p.stdout, body)
				}
				return body.print(p.stdout)
			})
		},
	}
	asJSON = jsonFlag(c)
	c.Flags().StringVar(&status, "status", "", "show only this state: pending, processing, completed or failed")
	completes(c, "status", "pending", "processing", "completed", "failed")
	c.Flags().IntVar(&limit, "limit", 100, "maximum number of operations, up to 500")
	defineSettings(c, forData)
	return c
}

func queueRetryCommand(p process) *cobra.Command {
	var failed bool
	var asJSON *bool
	one := oneArgument("the id of the operation, as queue list shows it, or --failed for all failed operations")
	c := &cobra.Command{
		Use:   "retry ID | --failed",
		Short: "Retry one operation, or all failed operations",
		Long: "Retries a failed operation as if it were new, or a waiting operation immediately. With\n" +
			"--failed, it retries all failed operations except those that need review: a person must first\n" +
			"decide whether they took effect. If no server is running, the next server to start retries them.",
		Args: func(c *cobra.Command, args []string) error {
			if failed {
				return noArguments(c, args)
			}
			return one(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			return p.withQueue(c.Context(), cfg, func(ctx context.Context, admin *adminClient) error {
				if failed {
					var done retriedBody
					if err := admin.call(ctx, http.MethodPost, "/v1/queue-retry", nil, &done); err != nil {
						return err
					}
					if *asJSON {
						return printJSON(p.stdout, done)
					}
					_, err := fmt.Fprintf(p.stdout, "%d queued for retry; %d need review or are running\n",
						done.Retried, done.Left)
					return err
				}
				if err := admin.call(ctx, http.MethodPost, "/v1/queue/"+url.PathEscape(args[0])+"/retry", nil,
					nil); err != nil {
					var refused *problem
					if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
						return fmt.Errorf("there is no operation %s. See: holdfast queue list", args[0])
					}
					return fmt.Errorf("operation %s: %w See: holdfast queue list", args[0], err)
				}
				if *asJSON {
					return printJSON(p.stdout, retriedBody{Retried: 1})
				}
				_, err := fmt.Fprintf(p.stdout, "operation %s queued for retry\n", args[0])
				return err
			})
		},
	}
	asJSON = jsonFlag(c)
	c.Flags().BoolVar(&failed, "failed", false, "retry all failed operations")
	defineSettings(c, forData)
	return c
}

// withQueue works like withAdmin, for commands about the queue. If no server is running, it opens the queue but
// delivers nothing.
func (p process) withQueue(ctx context.Context, cfg config, do func(context.Context, *adminClient) error) error {
	return p.withLocal(ctx, cfg, houseOptions{queue: true}, do)
}
