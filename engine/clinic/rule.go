package clinic

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"holdfast/engine/notice"
	"holdfast/engine/record"
)

// BookingRule names one of the clinic's programs, which the server calls before it writes a booking (see package rule).
// The zero value means no program.
type BookingRule struct {
	URL string `json:"url,omitempty"` // https, or http within this network; empty means no rule
	// "whsec_…", signs the call; if empty, the rule keeps its secret or gets a new one
	Secret        string `json:"secret,omitempty"`
	TimeoutMillis int    `json:"timeoutMillis,omitempty"` // 200 to 2000; 0 means 1000
	// applies if there is no valid response in time; default: allow
	OnFailure RuleFails `json:"onFailure,omitempty"`
	// the call contains the patient's name, email, phone and birth date
	SendPatient bool `json:"sendPatient,omitempty"`
}

// RuleFails determines the outcome of a booking if its rule fails.
type RuleFails string

const (
	RuleAllows  RuleFails = "allow"
	RuleRefuses RuleFails = "refuse"
)

// The limits for BookingRule.TimeoutMillis, and its default.
const (
	minRuleMillis     = 200
	maxRuleMillis     = 2000
	defaultRuleMillis = 1000
)

// Timeout returns how long the program may take to respond.
func (r *BookingRule) Timeout() time.Duration {
	if r.TimeoutMillis == 0 {
		return defaultRuleMillis * time.Millisecond
	}
	return time.Duration(r.TimeoutMillis) * time.Millisecond
}

// checkBookingRule completes and checks a rule that replaces before.
func checkBookingRule(m *record.Mistakes, r, before *BookingRule) {
	if r.URL == "" {
		*r = BookingRule{}
		return
	}
	CheckRule(m, "bookingRule.", r, before)
}

// CheckRule completes and checks a rule with an address. known contains the secret to keep if the rule does not specify
// one.
func CheckRule(m *record.Mistakes, prefix string, r, known *BookingRule) {
	if len(r.URL) > 2000 || !isConfidential(r.URL) {
		m.Add(prefix+"url",
			"must begin with https://, as in https://example.org/rule; http:// is for an address of this machine or "+
				"a private network")
	}
	if r.Secret == "" {
		r.Secret = known.Secret
	}
	if r.Secret == "" {
		r.Secret = notice.NewWebhookSecret()
	}
	if !notice.ValidWebhookSecret(r.Secret) {
		m.Add(prefix+"secret", "must be whsec_ and at least 24 bytes in base64; omit the secret, and the server "+
			"creates one")
	}
	if r.TimeoutMillis != 0 && (r.TimeoutMillis < minRuleMillis || r.TimeoutMillis > maxRuleMillis) {
		m.Add(prefix+"timeoutMillis", "must be %d to %d, or 0 for the default of %d", minRuleMillis, maxRuleMillis,
			defaultRuleMillis)
	}
	if r.OnFailure != "" && r.OnFailure != RuleAllows && r.OnFailure != RuleRefuses {
		m.Add(prefix+"onFailure", "must be allow or refuse")
	}
}

// isConfidential reports whether a call to an address stays private in transit. This is the case if the call is
// encrypted, or if the address is an IP address of this machine or of a private network. A call can contain a patient's
// data.
func isConfidential(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || strings.ContainsAny(address, " \r\n\t") {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && err == nil && (ip.IsLoopback() || ip.IsPrivate())
}
