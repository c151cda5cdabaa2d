package cli

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/holds/redis/redistest"
	"holdfast/store/postgres/postgrestest"
)

// mostIdle is the maximum number of transactions per second of one idle node in PostgreSQL, its lease included.
const mostIdle = 5

// TestIdleNodesAreIdle counts the transactions of one and two idle nodes, with Redis and without. A slow machine only
// makes the count smaller. The nodes are idle once they have finished their start-up work, so the test waits for the
// first 10 seconds with few transactions.
func TestIdleNodesAreIdle(t *testing.T) {
	t.Parallel() // it waits for separate processes
	for _, nodes := range []int{1, 2} {
		for _, withRedis := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d nodes, Redis %v", nodes, withRedis), func(t *testing.T) {
				t.Parallel()
				server, err := postgrestest.Start()
				if err != nil {
					t.Skip("SKIPPED:", err)
				}
				t.Cleanup(server.Stop)
				var flags []string
				if withRedis {
					flags = []string{"--redis", redistest.Start(t, redistest.Programs(t)[0]).URL()}
				}
				newNodesOn(t, nodes, nil, server.Create(t), flags...)
				var rate float64
				for began := time.Now(); ; {
					before, at := transactions(t, server), time.Now()
					<-time.After(10 * time.Second)
					rate = float64(transactions(t, server)-before) / time.Since(at).Seconds() / float64(nodes)
					if rate <= mostIdle {
						break
					}
					if time.Since(began) > 10*time.Minute {
						t.Fatalf("an idle node runs %.1f transactions per second, want at most %d", rate, mostIdle)
					}
				}
				t.Logf("an idle node runs %.1f transactions per second", rate)
			})
		}
	}
}

// transactions returns the number of transactions in the databases of a server that tests created.
func transactions(t *testing.T, server *postgrestest.Server) int {
	t.Helper()
	text, err := server.SQL("postgres", `SELECT sum(xact_commit + xact_rollback)::bigint FROM pg_stat_database
		WHERE datname NOT IN ('postgres', 'template0', 'template1')`)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEmptiedRedisGetsPresenceBack empties the Redis of two nodes. A specialist who is online on one node is available
// on both again long before presence is reconciled with the record (after 5 minutes).
func TestEmptiedRedisGetsPresenceBack(t *testing.T) {
	t.Parallel() // it waits for separate processes
	redis := redistest.Start(t, redistest.Programs(t)[0])
	c := newNodesWith(t, 2, nil, "--redis", redis.URL())
	for _, node := range c.all {
		storageMode(t, node.base, "redis")
	}
	if status, body := posted(t, c.all[0].base+"/v1/specialists/ada/online", nil, bearer(longEnough)); status != 200 {
		t.Fatalf("going online: got %d %s", status, body)
	}
	isOnline := func(node *server) bool {
		_, body := get(t, node.base+"/v1/specialists/ada/presence", longEnough)
		return strings.Contains(body, `"online":true`)
	}
	eventually(t, "ada is online at the other node", func() bool { return isOnline(c.all[1]) })
	redis.Flush()
	began := time.Now()
	eventually(t, "the nodes have left the emptied Redis", func() bool {
		return strings.Contains(c.all[0].stderr.String()+c.all[1].stderr.String(), "redis was emptied or replaced")
	})
	eventually(t, "ada is online at both nodes", func() bool { return isOnline(c.all[0]) && isOnline(c.all[1]) })
	t.Logf("presence returned %v after Redis was emptied", time.Since(began).Round(10*time.Millisecond))
	for _, node := range c.all {
		storageMode(t, node.base, "redis")
	}
	if !isOnline(c.all[0]) || !isOnline(c.all[1]) {
		t.Error("ada is offline after the return to Redis, want online")
	}
}
