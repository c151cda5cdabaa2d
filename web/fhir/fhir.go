// Package fhir contains the part of HL7 FHIR R4 (4.0.1) that the server supports: the JSON resources with the elements
// that the server uses. Elements keep the standard's names. Optional elements without a value are omitted, as the
// standard requires.
package fhir

import "strings"

// ContentType is the media type of resources.
const ContentType = "application/fhir+json"

// Coding is a code from a code system.
type Coding struct {
	System  string `json:"system,omitempty"`
	Code    string `json:"code"`
	Display string `json:"display,omitempty"`
}

// CodeableConcept is a concept, given as codes and as text.
type CodeableConcept struct {
	Coding []Coding `json:"coding,omitempty"`
	Text   string   `json:"text,omitempty"`
}

// Identifier is a value that identifies something within a system.
type Identifier struct {
	System string `json:"system"`
	Value  string `json:"value"`
}

// Reference refers to another resource: to a resource of this server by Reference, and to any other by Type and
// Identifier.
type Reference struct {
	Reference  string      `json:"reference,omitempty"`
	Type       string      `json:"type,omitempty"`
	Identifier *Identifier `json:"identifier,omitempty"`
	Display    string      `json:"display,omitempty"`
}

// Period is the time between two instants.
type Period struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// Meta contains the version of a resource. Tag marks a resource that is only a summary.
type Meta struct {
	VersionID   string   `json:"versionId,omitempty"`
	LastUpdated string   `json:"lastUpdated,omitempty"`
	Profile     []string `json:"profile,omitempty"`
	Tag         []Coding `json:"tag,omitempty"`
}

// Narrative is a human-readable form of a resource. The server accepts it in requests and ignores it.
type Narrative struct {
	Status string `json:"status"`
	Div    string `json:"div"`
}

// Extension is an element that the standard does not define.
type Extension struct {
	URL          string `json:"url"`
	ValueURL     string `json:"valueUrl,omitempty"`
	ValueString  string `json:"valueString,omitempty"`
	ValueInteger int    `json:"valueInteger,omitempty"`
}

// ContactPoint is a telephone number, an email address or a URL.
type ContactPoint struct {
	System string `json:"system"` // phone, email, url
	Value  string `json:"value"`
	Use    string `json:"use,omitempty"`
}

// Address is a postal address.
type Address struct {
	Text string   `json:"text,omitempty"`
	Line []string `json:"line,omitempty"`
}

// Location is a place of the clinic.
type Location struct {
	ResourceType string         `json:"resourceType"`
	ID           string         `json:"id"`
	Status       string         `json:"status"`
	Name         string         `json:"name"`
	Telecom      []ContactPoint `json:"telecom,omitempty"`
	Address      *Address       `json:"address,omitempty"`
}

// Schedule names the specialist and the type that slots belong to.
type Schedule struct {
	ResourceType    string            `json:"resourceType"`
	ID              string            `json:"id"`
	Meta            *Meta             `json:"meta,omitempty"`
	Identifier      []Identifier      `json:"identifier,omitempty"`
	Active          bool              `json:"active,omitempty"` // the server lists active ones only
	ServiceType     []CodeableConcept `json:"serviceType,omitempty"`
	Actor           []Reference       `json:"actor"`
	PlanningHorizon *Period           `json:"planningHorizon,omitempty"`
}

// The status of a slot.
const (
	Free        = "free"
	Held        = "busy-tentative"   // a client holds it
	Busy        = "busy"             // booked
	Unavailable = "busy-unavailable" // not offered for booking
)

// Slot is one time of a schedule, free or not.
type Slot struct {
	ResourceType string            `json:"resourceType"`
	ID           string            `json:"id"`
	Meta         *Meta             `json:"meta,omitempty"`
	ServiceType  []CodeableConcept `json:"serviceType,omitempty"`
	Schedule     Reference         `json:"schedule"`
	Status       string            `json:"status"`
	Start        string            `json:"start"`
	End          string            `json:"end"`
	Extension    []Extension       `json:"extension,omitempty"`
}

// HumanName is a person's name, as one string or in parts.
type HumanName struct {
	Use    string   `json:"use,omitempty"`
	Text   string   `json:"text,omitempty"`
	Family string   `json:"family,omitempty"`
	Given  []string `json:"given,omitempty"`
}

// Full returns the name as one string.
func (n *HumanName) Full() string {
	if n.Text != "" {
		return n.Text
	}
	return strings.TrimSpace(strings.Join(n.Given, " ") + " " + n.Family)
}

// Patient is a person, contained in an appointment.
type Patient struct {
	ResourceType string         `json:"resourceType"`
	ID           string         `json:"id"`
	Name         []HumanName    `json:"name,omitempty"`
	Telecom      []ContactPoint `json:"telecom,omitempty"`
	BirthDate    string         `json:"birthDate,omitempty"`
}

// Participant is a participant in an appointment, such as the patient or the specialist.
type Participant struct {
	Actor    Reference `json:"actor"`
	Required string    `json:"required,omitempty"`
	Status   string    `json:"status"`
}

// Appointment is an appointment with its patient.
type Appointment struct {
	ResourceType      string            `json:"resourceType"`
	ID                string            `json:"id"`
	Meta              *Meta             `json:"meta,omitempty"`
	Language          string            `json:"language,omitempty"` // in a request: language of the messages
	Text              *Narrative        `json:"text,omitempty"`
	Contained         []Patient         `json:"contained,omitempty"`
	Identifier        []Identifier      `json:"identifier,omitempty"`
	Status            string            `json:"status"`
	CancelationReason *CodeableConcept  `json:"cancelationReason,omitempty"` // R4 uses this spelling
	ServiceType       []CodeableConcept `json:"serviceType,omitempty"`
	Start             string            `json:"start"`
	End               string            `json:"end"`
	MinutesDuration   int               `json:"minutesDuration,omitempty"`
	Slot              []Reference       `json:"slot,omitempty"`
	Created           string            `json:"created,omitempty"`
	Comment           string            `json:"comment,omitempty"`
	Participant       []Participant     `json:"participant"`
}

// Link is the address of this page of a Bundle (self) or of the next page (next).
type Link struct {
	Relation string `json:"relation"`
	URL      string `json:"url"`
}

// Entry is one resource of a Bundle.
type Entry struct {
	FullURL  string `json:"fullUrl"`
	Resource any    `json:"resource"`
	Search   struct {
		Mode string `json:"mode"`
	} `json:"search"`
}

// Bundle is the response to a search.
type Bundle struct {
	ResourceType string  `json:"resourceType"`
	Type         string  `json:"type"`
	Total        *int    `json:"total,omitempty"` // of all pages, if known
	Link         []Link  `json:"link"`
	Entry        []Entry `json:"entry,omitempty"`
	Meta         *Meta   `json:"meta,omitempty"`
}

// Found returns an empty response to a search. self is the URL of the search.
func Found(self string) *Bundle {
	return &Bundle{ResourceType: "Bundle", Type: "searchset", Link: []Link{{"self", self}}}
}

// Add adds a resource whose address is url.
func (b *Bundle) Add(url string, resource any) {
	e := Entry{FullURL: url, Resource: resource}
	e.Search.Mode = "match"
	b.Entry = append(b.Entry, e)
}

// Issue is one error.
type Issue struct {
	Severity    string          `json:"severity"`
	Code        string          `json:"code"`
	Details     CodeableConcept `json:"details"`
	Diagnostics string          `json:"diagnostics,omitempty"`
	Expression  []string        `json:"expression,omitempty"`
}

// OperationOutcome is the response to a failed request.
type OperationOutcome struct {
	ResourceType string  `json:"resourceType"`
	Issue        []Issue `json:"issue"`
}

// IssueCode returns the FHIR issue code for an HTTP status.
func IssueCode(status int) string {
	switch status {
	case 400, 413, 415, 422:
		return "invalid"
	case 401:
		return "login"
	case 403:
		return "forbidden"
	case 404, 410:
		return "not-found"
	case 405:
		return "not-supported"
	case 409, 412:
		return "conflict"
	case 429:
		return "throttled"
	case 503, 507:
		return "transient"
	}
	return "exception"
}
