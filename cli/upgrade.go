package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/store/disk"
	"holdfast/store/postgres"
	"holdfast/store/sqlite"
)

func upgradeCommand(p process) *cobra.Command {
	var check bool
	var asJSON *bool
	c := &cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade the database schema",
		Long: "Upgrades the database schema to this program's version. serve does the same when it starts. Before\n" +
			"changing a SQLite file, the command writes a snapshot to backups. Stop every server that uses the\n" +
			"database first.\n" +
			"With --check, the command changes nothing: it upgrades and verifies a copy of the database and\n" +
			"prints the result. The server can keep running. For PostgreSQL, it only lists the pending\n" +
			"migrations, and says whether the nodes can be upgraded one after the other.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if *asJSON && !check {
				return usageError{errors.New("--json applies to --check only")}
			}
			if err := needDatabase(c.Context(), cfg.data); err != nil {
				return err
			}
			if !check {
				return p.upgrade(c.Context(), cfg)
			}
			found, err := rehearse(c.Context(), cfg)
			if err != nil {
				return fmt.Errorf("the upgrade would fail; nothing was changed: %w", err)
			}
			if *asJSON {
				return printJSON(p.stdout, found)
			}
			return found.say(p.stdout, cfg)
		},
	}
	asJSON = jsonFlag(c)
	c.Flags().BoolVar(&check, "check", false, "print what the upgrade would do, without changing anything")
	defineSettings(c, forData)
	return c
}

// upgrade opens the database, which applies the missing migrations.
func (p process) upgrade(ctx context.Context, cfg config) error {
	h, err := openHouse(ctx, cfg, houseOptions{version: p.version, log: newLog(cfg, p.stderr), exclusive: true})
	if err != nil {
		return err
	}
	where, version := h.dir.path, sqlite.SchemaVersion()
	if cfg.database != "" {
		where, version = "PostgreSQL", postgres.SchemaVersion()
	}
	_, err = fmt.Fprintf(p.stdout, "the schema in %s is at version %d\n", where, version)
	return errors.Join(err, h.close())
}

// upgradeBody is the output of upgrade --check.
type upgradeBody struct {
	From          int      `json:"from"`                    // schema version of the database
	To            int      `json:"to"`                      // schema version of this program
	Migrations    []string `json:"migrations"`              // the missing migrations, in order
	Tried         bool     `json:"tried"`                   // a copy was migrated and passed the check
	TookMs        int64    `json:"tookMs,omitempty"`        // duration on the copy, including the snapshot
	SnapshotBytes int64    `json:"snapshotBytes,omitempty"` // size of the snapshot before the upgrade
	FreeBytes     uint64   `json:"freeBytes,omitempty"`     // on the disk of the data directory; left out if unknown
	ServerRuns    bool     `json:"serverRuns"`
	StopAllNodes  bool     `json:"stopAllNodes"` // PostgreSQL: nodes of the old version must stop before the upgrade
}

// rehearse applies the upgrade to a copy of the database. With PostgreSQL, it only lists the migrations.
func rehearse(ctx context.Context, cfg config) (found upgradeBody, err error) {
	if _, err := dialAdmin(ctx, cfg.data); err == nil {
		found.ServerRuns = true
	}
	if cfg.database != "" {
		u, err := postgres.Due(ctx, cfg.database)
		found.From, found.To, found.Migrations = u.From, postgres.SchemaVersion(), append([]string{}, u.Migrations...)
		found.StopAllNodes = len(u.Migrations) > 0 && u.From > 0 && !u.Rolling
		return found, err
	}
	backups := filepath.Join(cfg.data, backupsDir)
	if err := os.MkdirAll(backups, 0o700); err != nil {
		return found, unusable(cfg.data, err)
	}
	in, err := os.MkdirTemp(backups, checkDir)
	if err != nil {
		return found, unusable(cfg.data, err)
	}
	defer os.RemoveAll(in)
	free, known := disk.Free(cfg.data)
	if !known {
		free = math.MaxUint64
	}
	r, err := sqlite.Rehearse(ctx, filepath.Join(cfg.data, databaseFile), in, free)
	found.From, found.To, found.Migrations, found.Tried = r.From, r.To, append([]string{}, r.Due...), len(r.Due) > 0 &&
		err == nil
	found.TookMs, found.SnapshotBytes = r.Took.Milliseconds(), r.Bytes
	if known {
		found.FreeBytes = free
	}
	return found, err
}

// say prints the result of a rehearsal as text.
func (u upgradeBody) say(w io.Writer, cfg config) error {
	where := "the database in " + cfg.data
	if cfg.database != "" {
		where = "the database in PostgreSQL"
	}
	var b strings.Builder
	if len(u.Migrations) == 0 {
		fmt.Fprintf(&b, "%s is up to date: its schema is at version %d\n", where, u.From)
		_, err := io.WriteString(w, b.String())
		return err
	}
	fmt.Fprintf(&b, "%s has schema version %d, and this program needs %d\nmigrations to apply: %s\n", where, u.From,
		u.To, strings.Join(u.Migrations, ", "))
	if u.Tried {
		fmt.Fprintf(&b, "tested on a copy: the upgrade took %v, and the copy is intact\n",
			time.Duration(u.TookMs)*time.Millisecond)
		fmt.Fprintf(&b, "before the upgrade, a snapshot is written to %s, which needs %s",
			filepath.Join(cfg.data, backupsDir), megabytes(uint64(u.SnapshotBytes)))
		if u.FreeBytes > 0 {
			fmt.Fprintf(&b, "; %s of disk space is free", megabytes(u.FreeBytes))
		}
		fmt.Fprintf(&b, "\nto go back, run with the previous version: holdfast restore --data %s %s/before-%04d-….db\n",
			cfg.data, filepath.Join(cfg.data, backupsDir), u.From+1)
	} else {
		b.WriteString("nothing was tested: back up PostgreSQL with its own tools first\n")
		if u.StopAllNodes {
			b.WriteString("the versions cannot run together: stop all nodes, and then start this program\n")
		} else {
			b.WriteString("the versions can run together: upgrade one node after the other\n")
		}
	}
	if u.ServerRuns && cfg.database == "" {
		b.WriteString("a server is using this database: stop that server, and start this program instead\n")
	}
	b.WriteString("nothing was changed\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func megabytes(n uint64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
