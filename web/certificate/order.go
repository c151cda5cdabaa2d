package certificate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
)

const (
	orderTime = 3 * time.Minute // for one order, including the proof
	callTime  = 30 * time.Second

	soonest   = time.Second     // after the first failure; the other challenge type may succeed
	pauseMin  = 5 * time.Minute // after that, doubled each time
	pauseMax  = time.Hour
	unreached = time.Minute // while the directory is unreachable; such attempts count toward no limit
)

// kinds are the challenge types, in the order that Run tries them.
var kinds = [...]string{"tls-alpn-01", "http-01"}

// Run obtains missing certificates and renews expiring ones until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, domain := range k.options.Domains {
		all.Go(func() { k.keep(ctx, domain) })
	}
	all.Wait()
}

// keep is Run for one domain.
func (k *Keeper) keep(ctx context.Context, domain string) {
	for failures := 0; ; {
		wait := k.due(domain)
		if wait <= 0 {
			if err := k.obtain(ctx, domain, kinds[failures%len(kinds)]); err == nil {
				failures = 0
				wait = max(k.due(domain), k.rest(domain))
			} else if ctx.Err() == nil {
				why, counts := explain(err, domain, k.options.Directory)
				wait = k.pause(failures, counts, err)
				k.note(domain, why)
				k.log.Error("certificate request failed; retrying", "domain", domain, "in", wait.Round(time.Second),
					"why", why, "error", err)
				if counts {
					failures++
				}
			}
		}
		sleep := time.NewTimer(min(wait, 12*time.Hour)) // the system clock can change in the meantime
		select {
		case <-ctx.Done():
			sleep.Stop()
			return
		case <-sleep.C:
		}
	}
}

// due returns the time until a domain's certificate must be renewed.
func (k *Keeper) due(domain string) time.Duration {
	k.mu.RLock()
	defer k.mu.RUnlock()
	held := k.held[domain]
	if held == nil {
		return 0
	}
	return time.Until(renewal(held.Leaf))
}

// rest returns the minimum time that Run waits after it has obtained a domain's certificate. If the clock is ahead, a
// new certificate is due immediately. Without this wait, Run would order again and again until the directory refuses.
func (k *Keeper) rest(domain string) time.Duration {
	k.mu.RLock()
	defer k.mu.RUnlock()
	leaf := k.held[domain].Leaf
	return min(time.Hour, leaf.NotAfter.Sub(leaf.NotBefore)/2)
}

// renewal returns when a third of a certificate's lifetime is left.
func renewal(c *x509.Certificate) time.Time {
	return c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore) / 3)
}

// pause returns how long to wait after a failure that follows `before` other failures.
func pause(before int, counts bool, err error) time.Duration {
	var said *acme.Error
	if errors.As(err, &said) {
		if wait, limited := acme.RateLimit(said); limited {
			return max(wait, pauseMax)
		}
	}
	switch {
	case !counts:
		return unreached
	case before == 0:
		return soonest
	}
	return min(pauseMin<<min(before-1, 10), pauseMax)
}

func (k *Keeper) note(domain, why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed[domain] = Status{Failed: time.Now(), Why: why}
}

// obtain gets a certificate for a domain, with one challenge type, and stores it.
func (k *Keeper) obtain(ctx context.Context, domain, kind string) (err error) {
	k.ordering.Lock()
	defer k.ordering.Unlock()
	defer func() {
		if err != nil {
			k.client = nil // the account may no longer exist at the directory
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	client, err := k.account(ctx)
	if err != nil {
		return err
	}
	order, err := client.AuthorizeOrder(ctx, acme.DomainIDs(domain))
	if err != nil {
		return err
	}
	for _, address := range order.AuthzURLs {
		if err := k.prove(ctx, client, address, domain, kind); err != nil {
			return err
		}
	}
	if order, err = client.WaitOrder(ctx, order.URI); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{domain}},
		key)
	if err != nil {
		return err
	}
	chain, _, err := client.CreateCertFromOrder(ctx, order, request, true)
	if err != nil {
		return err
	}
	got, err := usable(&tls.Certificate{Certificate: chain, PrivateKey: key}, domain)
	if err != nil {
		return fmt.Errorf("the directory issued an unusable certificate: %w", err)
	}
	if err := k.write(domain, key, chain); err != nil {
		k.log.Error("failed to store the certificate; the next start requests a new certificate",
			"domain", domain, "error", err)
	}
	k.mu.Lock()
	k.held[domain] = got
	delete(k.failed, domain)
	k.mu.Unlock()
	k.log.Info("certificate received", "domain", domain, "until", got.Leaf.NotAfter, "renewed", renewal(got.Leaf))
	return nil
}

// account returns the ACME client. The first order registers its account.
func (k *Keeper) account(ctx context.Context) (*acme.Client, error) {
	if k.client != nil {
		return k.client, nil
	}
	key, err := k.accountKey()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if k.options.Roots != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: k.options.Roots}
	}
	client := &acme.Client{
		Key: key, DirectoryURL: k.options.Directory, UserAgent: "holdfast",
		HTTPClient:   &http.Client{Transport: transport, Timeout: callTime},
		RetryBackoff: backoff,
	}
	account := &acme.Account{}
	if k.options.Email != "" {
		account.Contact = []string{"mailto:" + k.options.Email}
	}
	if _, err := client.Register(ctx, account, acme.AcceptTOS); err != nil &&
		!errors.Is(err, acme.ErrAccountAlreadyExists) {
		return nil, err
	}
	k.client = client
	return client, nil
}

// backoff returns the pause before the client retries a call to the directory, for example after an expired nonce. A
// negative result stops the retries: after five of them, or if the directory responds with 429 (too many requests).
func backoff(n int, _ *http.Request, answer *http.Response) time.Duration {
	if n > 5 || answer != nil && answer.StatusCode == http.StatusTooManyRequests {
		return -1
	}
	return time.Duration(n) * time.Second / 2
}

// prove proves to the directory that this server controls the domain.
func (k *Keeper) prove(ctx context.Context, client *acme.Client, address, domain, kind string) error {
	authorization, err := client.GetAuthorization(ctx, address)
	if err != nil || authorization.Status == acme.StatusValid {
		return err
	}
	var chosen *acme.Challenge
	for _, c := range authorization.Challenges {
		if c.Type == kind || chosen == nil && (c.Type == kinds[0] || c.Type == kinds[1]) {
			chosen = c
		}
	}
	if chosen == nil {
		return errNoChallenge
	}
	take, err := k.offer(client, chosen, domain)
	if err != nil {
		return err
	}
	defer take()
	if _, err := client.Accept(ctx, chosen); err != nil {
		return err
	}
	_, err = client.WaitAuthorization(ctx, authorization.URI)
	return err
}

var errNoChallenge = errors.New("the directory offers neither TLS-ALPN-01 nor HTTP-01")

// offer makes the response to a challenge available until take is called.
func (k *Keeper) offer(client *acme.Client, c *acme.Challenge, domain string) (take func(), err error) {
	if c.Type == "http-01" {
		token, err := client.HTTP01ChallengeResponse(c.Token)
		if err != nil {
			return nil, err
		}
		path := client.HTTP01ChallengePath(c.Token)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.tokens[path] = token
		return func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			delete(k.tokens, path)
		}, nil
	}
	proof, err := client.TLSALPN01ChallengeCert(c.Token, domain)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.proofs[domain] = &proof
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.proofs, domain)
	}, nil
}
