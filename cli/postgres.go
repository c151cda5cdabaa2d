package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/practice"
	"holdfast/store/disk"
	"holdfast/store/postgres"
)

// With --database, the record and the queue are in PostgreSQL. The data directory contains the keys, the admin socket,
// backups, mail and postgresFile. postgresFile contains the id of the database that the directory belongs to, so that
// the server does not serve an empty clinic or another clinic by mistake.
const postgresFile = "postgres.id"

// liveIn returns where the nodes on one database store their live state: redis or postgres.
func (c *config) liveIn() string {
	if c.redis != "" {
		return "redis"
	}
	return "postgres"
}

// warnWithoutTLS logs a warning if the database is on another host and connections to it may be unencrypted. They carry
// patients' data and the password.
func (h *house) warnWithoutTLS(database string) {
	if host := postgres.WithoutTLS(database); host != "" {
		h.log.Warn("--database connects to another host without requiring TLS; add sslmode=verify-full to the URL",
			"host", host)
	}
}

// openPostgres opens the database of --database. Several nodes can open it together if they share their live state. A
// command opens it exclusively.
func (h *house) openPostgres(ctx context.Context, cfg config, o houseOptions) error {
	if disk.Size(h.dir.file(databaseFile)) > 0 {
		return fmt.Errorf("%s contains a SQLite database, but --database names a PostgreSQL database. Remove "+
			"--database, or choose another directory with --data", h.dir.file(databaseFile))
	}
	s, err := postgres.Open(ctx, postgres.Options{URL: cfg.database, Logger: h.log, OnFatal: h.fail, Alone: o.alone(),
		Live: cfg.liveIn()})
	switch {
	case errors.Is(err, postgres.ErrOldNodes):
		return err
	case errors.Is(err, postgres.ErrInUse) && o.alone():
		return fmt.Errorf("%w, and this command needs exclusive access. Set --data to the directory of a running "+
			"node, which then does the work, or stop all nodes first", err)
	case errors.Is(err, postgres.ErrInUse) && cfg.redis == "":
		return fmt.Errorf("%w with --redis, or a command is working on it. Nodes that share a database must share "+
			"one hold table: set --redis to the same Redis, or wait until the command has finished", err)
	case errors.Is(err, postgres.ErrInUse):
		return fmt.Errorf("%w without --redis, or a command is working on it. Nodes that share a database must share "+
			"one hold table: remove --redis here, start the other node with --redis too, or wait until the command "+
			"has finished", err)
	case err != nil:
		return err
	}
	if err := h.dir.belongTo(s.ID()); err != nil {
		return errors.Join(err, s.Close())
	}
	h.store = s
	h.warnWithoutTLS(cfg.database)
	if o.alone() {
		return nil
	}
	if err := h.agreeOnKeys(ctx, s); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// queueLease is how long an operation remains assigned to an unreachable node. During this time, no other node attempts
// it.
const queueLease = 15 * time.Second

func (h *house) openPostgresQueue(ctx context.Context, cfg config, about houseOptions, o *engine.Options) error {
	q, err := postgres.OpenQueue(ctx, postgres.QueueOptions{URL: cfg.database, Logger: h.log, Alone: about.alone(),
		Lease: queueLease, Settle: cfg.outbound.Quarantine})
	if err != nil {
		return err
	}
	h.closing = append(h.closing, q.Close)
	h.queue, o.QueueRebuilt = q, q.Rebuilt()
	if o.Shared = !about.alone(); o.Shared {
		o.Pace = practice.Pace{Reserve: q.Pace, Again: q.PaceAgain, Return: q.PaceReturn}
	}
	return nil
}

// belongTo returns an error if the directory belongs to another database. If it does not belong to a database yet,
// belongTo marks it with id.
func (d *dataDir) belongTo(id string) error {
	known, err := os.ReadFile(d.file(postgresFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.Join(os.WriteFile(d.file(postgresFile), []byte(id+"\n"), 0o600), disk.Sync(d.path))
	case err != nil:
		return unusable(d.path, err)
	case strings.TrimSpace(string(known)) != id:
		return fmt.Errorf("the data directory %s belongs to the database %s, but --database names %s. Set "+
			"--database to the first one. To serve the second one from this directory, move %s away", d.path, strings.TrimSpace(string(known)),
			id, d.file(postgresFile))
	}
	return nil
}

// refusePostgres returns an error if the directory belongs to a clinic in PostgreSQL, so that its keys are not used
// for a new clinic in SQLite.
func (d *dataDir) refusePostgres() error {
	if disk.Size(d.file(postgresFile)) < 0 {
		return nil
	}
	return fmt.Errorf("the data directory %s belongs to a PostgreSQL clinic: set --database to its database. For "+
		"a new, empty SQLite database, choose another directory with --data", d.path)
}
