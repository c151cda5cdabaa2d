package simulation

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"holdfast/web/simulation/referee"
)

// reader is a page that follows the live stream of a type.
type reader struct {
	kind string
	stop context.CancelFunc
	done sync.WaitGroup

	mu   sync.Mutex
	page *referee.Reader
	err  error
}

// read opens a stream, or closes the oldest one if three are open.
func (l *life) read(r *rand.Rand) error {
	if len(l.readers) >= 3 {
		l.readers[0].close()
		l.readers = l.readers[1:]
		return nil
	}
	kind := oneOf(r, []string{"checkup", "surgery", "class", "night"})
	ctx, stop := context.WithCancel(context.Background())
	l.requests++
	q := url.Values{"appointmentTypeId": {kind}, "clientId": {fmt.Sprintf("client-of-a-reader-%d", l.requests)},
		"leaseMs": {"3600000"}}
	request, err := http.NewRequestWithContext(ctx, "GET", "http://clinic.test/v1/holds/stream?"+q.Encode(), nil)
	if err != nil {
		stop()
		return err
	}
	answer, err := l.http.Do(request)
	if err != nil {
		stop()
		return nil // the connection was lost; the page would reconnect
	}
	if answer.StatusCode != http.StatusOK {
		stop()
		answer.Body.Close()
		return fmt.Errorf("a stream got %d", answer.StatusCode)
	}
	p := &reader{kind: kind, stop: stop, page: referee.NewReader()}
	p.done.Go(func() {
		defer answer.Body.Close()
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			p.mu.Lock()
			if err := p.page.Line(lines.Text()); err != nil && p.err == nil {
				p.err = err
			}
			p.mu.Unlock()
		}
	})
	l.readers = append(l.readers, p)
	return nil
}

func (p *reader) close() {
	p.stop()
	p.done.Wait()
}

func (p *reader) agrees(l *life, list []referee.Hold) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return fmt.Errorf("stream of %s: %w", p.kind, p.err)
	}
	if err := p.page.Agrees(list, l.Holds, l.Types[p.kind].Priorities, time.Now()); err != nil {
		return fmt.Errorf("stream of %s: %w", p.kind, err)
	}
	return nil
}

func (l *life) closeReaders() {
	for _, p := range l.readers {
		p.close()
	}
	l.readers = nil
}
