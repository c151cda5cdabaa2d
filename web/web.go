// Package web is the HTTP layer of Holdfast. It gets an *engine.Engine and never a store.
//
// # One request
//
// routes, below, lists every route: method, pattern, required access, handler. serve (call.go) handles one request. It
// first checks the limits and the credentials, and then calls the handler, which returns an error or sets the response
// of its call. One table (error.go) maps every error to a status, a code and a sentence. So a handler only decodes the
// body, calls the engine, and responds.
//
// # Wire format
//
// JSON in UTF-8, camelCase. Unknown and duplicate fields are refused. Instants are accepted with any offset and
// returned in UTC with whole seconds; the expiry of a hold has milliseconds. Refusals are RFC 9457 problems.
// docs/api/openapi.yaml is the full description; docs/errors.md has a section for every code.
//
// # What is never logged
//
// Logs, metrics and problems contain no client ids, keys, tokens or text that a user entered. A log line contains the
// pattern of the route, not the path. The JSON types of public responses have no patient fields.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/web/certificate"
	"holdfast/web/pages"
	"holdfast/web/stream"
)

// Options configure a Server. The zero value of each field is its default.
type Options struct {
	// TrustedProxies are the addresses whose X-Forwarded-For and Forwarded headers are trusted.
	// Default: none.
	TrustedProxies []netip.Prefix
	// RateLimit enables the limits per address.
	RateLimit bool
	// Limits restrict how many holds, session requests and connections the public can have at the same time. All except
	// Limits.Streams apply only with RateLimit.
	Limits Limits
	// Demo adds the page /demo. With DemoCluster, that page can make a front process kill the server or one of several
	// nodes.
	Demo        bool
	DemoCluster bool
	// Version is the version of the build, for /readyz and /metrics.
	Version string
	// StorageMode returns the storage of the live state: memory, redis, postgres or fallback. Default: always memory.
	StorageMode func() string
	// LastBackup returns when the last backup was made. It returns the zero time if there is none, and false if this
	// server makes no daily backups either. Default: there is none.
	LastBackup func() (time.Time, bool)
	// LastCopy returns the instant up to which the incremental backup at the backup destination is complete. It returns
	// the zero time if the backup is empty, and false if there is no incremental backup. Default: there is none.
	LastCopy func() (time.Time, bool)
	// Certificates returns the state of the certificate of each domain. Default: none.
	Certificates func() []certificate.Status
	// Patience is the time limit of an ordinary request. After that, the server responds with 503. Streams are exempt.
	// Default 10 s.
	Patience time.Duration
	// Ping is the interval of pings on live streams. A proxy's timeout must be longer. Default 15 s.
	Ping time.Duration
	// Logger receives every request and every failure. Default: discard.
	Logger *slog.Logger
	// LogClientAddress adds the client's address, which is personal data, to the log line of each request.
	LogClientAddress bool

	sweep time.Duration // interval of stream sweeps; zero means the default of package stream
}

// Server serves HTTP requests. It is safe for concurrent use.
type Server struct {
	engine  *engine.Engine
	options Options
	log     *slog.Logger
	router  http.Handler

	origins       *http.CrossOriginProtection
	credentials   []credential
	running       inFlight // requests with an idempotency key
	encoded       encodedLists
	parts         *partsAnswers
	packers       packers
	warnForwarded sync.Once
	writes        *limiter // public writes by address; nil means no limit
	opens         *limiter // stream opens by address; nil means no limit
	polls         *limiter // polls of clients by address; nil means no limit
	reads         *limiter // public reads that cost more than a page, by address; nil means no limit
	bulk          bulk     // the published free slots
	limits        Limits
	byAddress     *holdLimit[netip.Addr]
	byDay         *holdLimit[heldDay]
	byShare       *holdLimit[heldShare]
	bySession     *holdLimit[netip.Addr] // waiting session requests by address
	metrics       *metrics
	hub           *stream.Hub           // the live streams
	files         *pages.Files          // of the pages
	pages         map[string]*pageRoute // by pattern
	draining      atomic.Bool

	work []func(context.Context) // the functions that Run runs
}

// New returns a Server. Call Run for its background work, unless you call Serve, which calls Run.
func New(e *engine.Engine, o Options) (*Server, error) {
	if e == nil {
		return nil, errors.New("web: an engine is required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.StorageMode == nil {
		o.StorageMode = func() string { return "memory" }
	}
	if o.LastBackup == nil {
		o.LastBackup = func() (time.Time, bool) { return time.Time{}, true }
	}
	if o.LastCopy == nil {
		o.LastCopy = none
	}
	if o.Certificates == nil {
		o.Certificates = func() []certificate.Status { return nil }
	}
	s := &Server{
		engine: e, options: o, log: o.Logger, origins: http.NewCrossOriginProtection(), parts: newPartsAnswers(),
		metrics: newMetrics(o.Version),
	}
	s.limits = o.Limits.withDefaults()
	s.hub = stream.New(streamSource(e), o.Logger, streamOptions(o))
	s.work = append(s.work, s.hub.Run, s.watchMemory)
	e.Account.OnRevoked(s.hub.Recheck)
	s.credentials = []credential{s.onLocal, s.apiKey, s.manageLink, s.staffCookie}
	if o.RateLimit {
		s.writes, s.opens, s.reads = newLimiter(publicWrites), newLimiter(streamOpens), newLimiter(publicReads)
		s.polls = newLimiter(publicPolls)
		s.byAddress, s.byDay = newHoldLimit[netip.Addr](e.Booking.HoldEnd), newHoldLimit[heldDay](e.Booking.HoldEnd)
		s.byShare, s.bySession = newHoldLimit[heldShare](e.Booking.HoldEnd),
			newHoldLimit[netip.Addr](e.Booking.SessionWaits)
		s.work = append(s.work, s.byAddress.forget, s.byDay.forget, s.byShare.forget, s.bySession.forget)
	}
	var err error
	if s.files, err = pages.Load(); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	s.router = s.newRouter(s.routes())
	return s, nil
}

// routes returns all routes. A GET route handles HEAD as well.
func (s *Server) routes() []*route {
	return []*route{
		{"GET", "/v1/clinic", anyone, s.getClinic},
		{"PUT", "/v1/clinic", admin, in(s.putClinic)},
		{"POST", "/v1/import", admin, inUpTo(maxImport, s.importClinic)},
		{"POST", "/v1/import/plan", admin, inUpTo(maxImport, s.planImport)},
		{"POST", "/v1/import/appointments", admin, inUpTo(maxSheet, s.importSheet)},
		{"POST", "/v1/import/appointments-plan", admin, inUpTo(maxSheet, s.planSheet)},
		{"GET", "/v1/export", admin, s.exportClinic},
		{"GET", "/v1/export/appointments", admin, s.exportSheet},
		{"GET", "/v1/downtime-kit", desk, s.getDowntimeKit},
		{"POST", "/v1/downtime-kit/check", desk, in(s.checkByHand)},

		{"GET", "/v1/appointment-types", anyone, s.listAppointmentTypes},
		{"POST", "/v1/appointment-types", admin, in(s.createAppointmentType)},
		{"GET", "/v1/appointment-types/{id}", anyone, s.getAppointmentType},
		{"PUT", "/v1/appointment-types/order", admin, in(s.orderAppointmentTypes)},
		{"PATCH", "/v1/appointment-types/{id}", admin, in(s.updateAppointmentType)},
		{"DELETE", "/v1/appointment-types/{id}", admin, s.archiveAppointmentType},

		{"GET", "/v1/specialists", anyone, s.listSpecialists},
		{"POST", "/v1/specialists", admin, in(s.createSpecialist)},
		{"GET", "/v1/specialists/{id}", anyone, s.getSpecialist},
		{"PATCH", "/v1/specialists/{id}", admin, in(s.updateSpecialist)},
		{"DELETE", "/v1/specialists/{id}", admin, s.archiveSpecialist},
		{"GET", "/v1/specialists/{id}/picture", anyone, s.getPicture},
		{"PUT", "/v1/specialists/{id}/picture", admin, inUpTo(maxPictureBody, s.putPicture)},
		{"DELETE", "/v1/specialists/{id}/picture", admin, s.deletePicture},
		{"GET", "/v1/specialists/{id}/calendar-feed", desk, s.getCalendarFeed},
		{"POST", "/v1/specialists/{id}/calendar-feed", desk, in(s.makeCalendarFeed)},
		{"DELETE", "/v1/specialists/{id}/calendar-feed", desk, s.endCalendarFeed},
		{"GET", calendarPattern, anyone, s.readCalendar},
		{"GET", "/v1/specialists/{id}/busy-calendar", desk, s.getBusyCalendar},
		{"PUT", "/v1/specialists/{id}/busy-calendar", desk, in(s.putBusyCalendar)},
		{"DELETE", "/v1/specialists/{id}/busy-calendar", desk, s.deleteBusyCalendar},
		{"POST", "/v1/specialists/{id}/busy-calendar/read", desk, bodyless(s.readBusyCalendar)},
		{"GET", "/v1/specialists/{id}/weekly-hours", desk, s.getWeeklyHours},
		{"PUT", "/v1/specialists/{id}/weekly-hours", admin, in(s.putWeeklyHours)},
		{"GET", "/v1/specialists/{id}/overrides", desk, s.listOverrides},
		{"POST", "/v1/specialists/{id}/overrides", desk, in(s.createOverride)},
		{"DELETE", "/v1/overrides/{id}", desk, s.deleteOverride},
		{"GET", "/v1/specialists/{id}/blocks", desk, s.listBlocks},
		{"POST", "/v1/specialists/{id}/blocks", desk, in(s.createBlock)},
		{"DELETE", "/v1/blocks/{id}", desk, s.deleteBlock},
		{"POST", "/v1/blocks", desk, inUpTo(maxBlocks, s.createBlocks)},
		{"POST", "/v1/blocks/plan", desk, inUpTo(maxBlocks, s.planBlocks)},
		{"POST", "/v1/blocks/holidays", desk, inUpTo(maxBlocks, s.readHolidays)},
		{"GET", "/v1/blocks/{id}/appointments", desk, s.listInTheWay},
		{"DELETE", "/v1/block-sets/{id}", desk, s.deleteBlockSet},
		{"POST", "/v1/absences/plan", frontDesk, in(s.planAbsence)},
		{"POST", "/v1/absences", frontDesk, inUpTo(maxBlocks, s.createAbsence)},
		{"GET", "/v1/absences", frontDesk, s.listAbsences},
		{"GET", "/v1/absences/{id}", frontDesk, s.getAbsence},
		{"DELETE", "/v1/absences/{id}", frontDesk, s.undoAbsence},
		{"GET", schedulePattern, desk, s.getSchedule},

		{"GET", "/v1/appointment-types/{id}/timeslots", anyone, s.timeslots},
		{"GET", "/v1/appointment-types/{id}/next-available", anyone, s.nextAvailable},
		{"GET", "/v1/appointment-types/{id}/explain", anyone, s.explain},
		{"POST", "/v1/appointment-types/{id}/find", desk, in(s.findTimes)},
		{"POST", "/v1/appointment-types/{id}/series-plan", desk, in(s.planSeries)},

		{"GET", "/v1/holds", anyone, s.listHolds},
		{"POST", "/v1/holds", bookers, allOrNothing(s.createHold)},
		{"PATCH", "/v1/holds", bookers, in(s.extendHold)},
		{"DELETE", "/v1/holds", bookers, maybe(s.deleteHold)},
		{"POST", "/v1/holds/release", bookers, beacon(s.releaseHold)},
		{"POST", "/v1/holds/stream-ticket", bookers, maybe(s.streamTicket)},
		{"GET", "/v1/holds/stream", anyone, s.holdStream},
		{"GET", "/v1/staff/stream", desk, s.staffStream},

		{"POST", "/v1/appointment-types/{id}/book", bookers, allOrNothing(s.book)},
		{"GET", "/v1/appointments", desk, s.listAppointments},
		{"POST", "/v1/appointments", desk, in(s.createAppointment)},
		{"POST", searchPattern, desk, in(s.searchAppointments)},
		{"GET", "/v1/appointments/{id}", managed, s.getAppointment},
		{"PATCH", "/v1/appointments/{id}", desk, in(s.changePatient)},
		{"POST", "/v1/appointments/{id}/cancel", managed, maybe(s.cancelAppointment)},
		{"POST", "/v1/appointments/{id}/reschedule", managed, in(s.rescheduleAppointment)},
		{"POST", "/v1/appointments/{id}/attendance", desk, in(s.setAttendance)},
		{"POST", "/v1/appointments/{id}/arrive", managed, bodyless(s.arrive)},
		{"POST", "/v1/appointments/{id}/recall", managed, in(s.recall)},
		{"DELETE", "/v1/appointments/{id}/recall", managed, s.withdrawRecall},
		{"POST", "/v1/appointments/{id}/undo", desk, bodyless(s.undoAppointment)},
		{"GET", "/v1/appointments/{id}/ics", managed, s.getICS},
		{"GET", "/v1/appointments/{id}/calendar", managed, s.getAppointmentCalendar},
		{"DELETE", "/v1/appointments/{id}/calendar", managed, s.endAppointmentCalendar},
		{"GET", "/v1/appointments/{id}/deliveries", desk, s.listDeliveries},
		{"POST", "/v1/appointments/{id}/proposal/accept", managed, bodyless(s.acceptProposal)},
		{"POST", "/v1/appointments/{id}/proposal/decline", managed, bodyless(s.declineProposal)},
		{"POST", "/v1/appointments/{id}/tell", desk, bodyless(s.tellToMove)},
		{"GET", "/v1/appointments/{id}/history", desk, s.getHistory},
		{"GET", "/v1/appointments/{id}/audit", desk, s.listAppointmentAudit},
		{"POST", "/v1/series", desk, in(s.createSeries)},
		{"GET", "/v1/appointments/{id}/series", desk, s.getSeries},
		{"POST", "/v1/appointments/{id}/series/cancel", desk, maybe(s.cancelSeries)},
		{"POST", "/v1/appointments/{id}/series/plan", desk, in(s.planSeriesMove)},
		{"POST", "/v1/appointments/{id}/series/reschedule", desk, in(s.moveSeries)},
		{"POST", "/v1/appointments/{id}/series/undo", desk, bodyless(s.undoSeries)},
		{"POST", "/v1/visits", desk, in(s.createVisit)},
		{"POST", "/v1/visits/hold", desk, in(s.holdVisit)},
		{"GET", "/v1/appointments/{id}/visit", desk, s.getVisit},
		{"POST", "/v1/appointments/{id}/visit/cancel", managed, maybe(s.cancelVisit)},
		{"POST", "/v1/appointments/{id}/visit/reschedule", managed, in(s.moveVisit)},
		{"GET", "/v1/booked-online", desk, s.bookedOnline},
		{"GET", "/v1/online-changes", desk, s.onlineChanges},
		{"GET", "/v1/requests", desk, s.listRequests},
		{"GET", "/v1/requests/{id}", requested, s.getRequest},
		{"POST", "/v1/requests/{id}/confirm", requested, maybe(s.confirmRequest)},
		{"POST", "/v1/requests/{id}/decline", requested, bodyless(s.declineRequest)},
		{"POST", "/v1/requests/{id}/propose", desk, in(s.proposeRequest)},
		{"POST", "/v1/appointment-types/{id}/waitlist", bookers, in(s.joinWaitlist)},
		{"POST", "/v1/appointments/{id}/waitlist", managed, in(s.waitForSooner)},
		{"GET", "/v1/waitlist", frontDesk, s.listWaiting},
		{"GET", "/v1/waitlist/{id}", waits, s.getWaiting},
		{"POST", "/v1/waitlist/{id}/confirm", waits, bodyless(s.confirmWaiting)},
		{"POST", "/v1/waitlist/{id}/leave", waits, bodyless(s.leaveWaiting)},
		{"POST", "/v1/waitlist/{id}/offer", frontDesk, in(s.offerByHand)},
		{"POST", "/v1/waitlist/{id}/accept", waits, bodyless(s.acceptOffer)},
		{"POST", "/v1/waitlist/{id}/decline", waits, bodyless(s.declineOffer)},
		{"POST", "/v1/people/search", desk, in(s.findPeople)},
		{"POST", "/v1/appointments/{id}/person-notes", desk, in(s.addNote)},
		{"DELETE", "/v1/person-notes/{id}", frontDesk, s.deleteNote},
		{"POST", "/v1/appointments/{id}/person-links", frontDesk, in(s.linkPeople)},
		{"DELETE", "/v1/person-links/{id}", frontDesk, s.unlinkPeople},
		{"POST", "/v1/people/erase", admin, in(s.erasePerson)},
		{"POST", "/v1/people/erase-plan", admin, in(s.planErasure)},

		{"POST", "/v1/setup", anyone, in(s.setup)},
		{"POST", "/v1/setup/check", anyone, in(s.checkSetup)},
		{"POST", "/v1/auth/sign-in", anyone, in(s.signIn)},
		{"POST", "/v1/auth/openid", anyone, bodyless(s.beginOpenID)},
		{"GET", account.ReturnPath, anyone, s.finishOpenID},
		{"POST", "/v1/auth/openid/code", anyone, in(s.codeOpenID)},
		{"POST", "/v1/auth/sign-out", anyone, bodyless(s.signOut)},
		{"GET", "/v1/auth/me", anyone, s.getMe},
		{"POST", "/v1/auth/password", desk, in(s.changePassword)},
		{"POST", "/v1/auth/totp", desk, bodyless(s.beginTOTP)},
		{"PUT", "/v1/auth/totp", desk, in(s.enableTOTP)},
		{"DELETE", "/v1/auth/totp", desk, in(s.disableTOTP)},
		{"GET", "/v1/auth/sign-ins", desk, s.listSignIns},
		{"DELETE", "/v1/auth/sign-ins", desk, s.deleteSignIns},
		{"DELETE", "/v1/auth/sign-ins/{id}", desk, s.deleteSignIn},
		{"GET", "/v1/users", admin, s.listUsers},
		{"POST", "/v1/users", admin, in(s.createUser)},
		{"PATCH", "/v1/users/{id}", admin, in(s.updateUser)},
		{"GET", "/v1/api-keys", admin, s.listAPIKeys},
		{"POST", "/v1/api-keys", admin, in(s.createAPIKey)},
		{"DELETE", "/v1/api-keys/{id}", admin, s.revokeAPIKey},
		{"GET", "/v1/reports", admin, s.getReports},
		{"GET", "/v1/audit", admin, s.listAudit},
		{"POST", "/v1/audit/search", admin, in(s.searchAudit)},
		{"GET", "/v1/settings", admin, s.getSettings},
		{"PUT", "/v1/settings", admin, inUpTo(maxSettings, s.putSettings)},
		{"PATCH", "/v1/settings", admin, inUpTo(maxSettings, s.patchSettings)},
		{"POST", "/v1/settings/mail-preview", admin, in(s.previewMail)},
		{"POST", "/v1/settings/mail-test", admin, bodyless(s.testMail)},
		{"POST", "/v1/settings/webhook-test", admin, in(s.testHook)},
		{"GET", "/v1/settings/webhooks/{id}/deliveries", admin, s.listHookDeliveries},
		{"GET", "/v1/settings/booking-rule", admin, s.getRule},
		{"POST", "/v1/settings/booking-rule/test", admin, in(s.testRule)},
		{"GET", "/v1/settings/mail-server", admin, s.getMailServer},
		{"PUT", "/v1/settings/mail-server", admin, in(s.putMailServer)},
		{"DELETE", "/v1/settings/mail-server", admin, s.deleteMailServer},
		{"POST", "/v1/settings/mail-server/test", admin, in(s.tryMailServer)},
		{"GET", "/v1/settings/sms-gateway", admin, s.getSMSGateway},
		{"PUT", "/v1/settings/sms-gateway", admin, in(s.putSMSGateway)},
		{"DELETE", "/v1/settings/sms-gateway", admin, s.deleteSMSGateway},
		{"POST", "/v1/settings/sms-gateway/test", admin, in(s.trySMSGateway)},
		{"POST", "/v1/settings/sms-preview", admin, in(s.previewSMS)},
		{"GET", "/v1/settings/openid", admin, s.getOpenID},
		{"PUT", "/v1/settings/openid", admin, in(s.putOpenID)},
		{"DELETE", "/v1/settings/openid", admin, s.deleteOpenID},

		{"POST", "/v1/slots/select", bookers, in(s.selectSlot)},
		{"POST", "/v1/slots/deselect", bookers, in(s.deselectSlot)},
		{"GET", "/v1/slots/poll", anyone, s.pollSlots},

		{"POST", "/v1/specialists/{id}/online", presenceKey, bodyless(s.goOnline)},
		{"POST", "/v1/specialists/{id}/offline", presenceKey, bodyless(s.goOffline)},
		{"POST", "/v1/specialists/{id}/heartbeat", presenceKey, bodyless(s.heartbeat)},
		{"GET", "/v1/specialists/{id}/presence", presenceKey, s.getPresence},
		{"GET", "/v1/specialists/{id}/presence-log", presenceKey, s.getPresenceLog},
		{"GET", "/v1/presence/snapshot", anyone, s.getBeacon},
		{"GET", "/v1/presence/available", presenceKey, s.listAvailable},
		{"GET", "/v1/presence/online", presenceKey, s.listOnline},
		{"GET", "/v1/presence/stream", presenceKey, s.presenceStream},
		{"POST", "/v1/sessions", bookers, in(s.requestSession)},
		{"GET", "/v1/sessions", presenceKey, s.listSessions},
		{"GET", "/v1/sessions/{id}", anyone, s.getSession},
		{"POST", "/v1/sessions/{id}/cancel", bookers, maybe(s.cancelSession)},
		{"POST", "/v1/sessions/{id}/accept", presenceKey, in(s.acceptSession)},
		{"POST", "/v1/sessions/{id}/decline", presenceKey, maybe(s.declineSession)},
		{"POST", "/v1/sessions/{id}/end", presenceKey, maybe(s.endSession)},
		{"POST", "/v1/sessions/{id}/reroute", presenceKey, in(s.rerouteSession)},
		{"POST", "/v1/sessions/{id}/payment", presenceKey, in(s.setSessionPayment)},

		{"GET", "/v1/debug/storage", frontDesk, s.getStorage},
		{"GET", "/v1/debug/locks", frontDesk, s.getLocks},

		{"POST", "/v1/agent/patients", agentKey, toAgent(s.agentPatient)},
		{"POST", "/v1/agent/slots", agentKey, toAgent(s.agentSlots)},
		{"POST", "/v1/agent/appointments", agentKey, toAgent(s.agentBook)},
		{"GET", "/v1/agent/operations/{id}", agentKey, s.agentOperation},
		{"GET", "/v1/queue-status", queueing, s.queueStatus},
		{"GET", "/v1/upstream-status", desk, s.upstreamStatus},
		{"POST", "/v1/queue-retry", frontDesk, bodyless(s.retryFailed)},
		{"POST", "/v1/queue/{id}/retry", frontDesk, bodyless(s.retryOperation)},
		{"POST", "/v1/queue/{id}/review", frontDesk, in(s.reviewOperation)},
		{"DELETE", "/v1/queue/{id}", frontDesk, s.giveUpOperation},
		{"POST", "/mcp", agentKey, s.postMCP},

		{"GET", "/livez", anyone, s.livez},
		{"GET", "/readyz", anyone, s.readyz},
		{"GET", "/metrics", operator, s.exposeMetrics},
		{"GET", "/openapi.yaml", anyone, s.getOpenAPI},
		{"GET", "/openapi.json", anyone, s.getManual},
		{"GET", protectedResource, anyone, s.describeResource("")},
		{"GET", protectedResource + "/mcp", anyone, s.describeResource("/mcp")},
		{"GET", "/fhir/metadata", anyone, s.fhirMetadata},
		{"GET", "/fhir/Schedule", anyone, s.searchSchedules},
		{"GET", "/fhir/Schedule/{id}", anyone, s.readSchedule},
		{"GET", "/fhir/Slot", anyone, s.searchSlots},
		{"GET", "/fhir/Slot/{id}", anyone, s.readSlot},
		{"GET", "/fhir/Appointment", admin, s.searchFHIRAppointments},
		{"GET", "/fhir/Appointment/{id}", admin, s.readFHIRAppointment},
		{"POST", "/fhir/Schedule/_search", anyone, searchByForm(s.searchSchedules)},
		{"POST", "/fhir/Slot/_search", anyone, searchByForm(s.searchSlots)},
		{"POST", "/fhir/Appointment/_search", admin, searchByForm(s.searchFHIRAppointments)},
		{"POST", "/fhir/Appointment", admin, in(s.createFHIRAppointment)},
		{"PUT", "/fhir/Appointment/{id}", admin, in(s.updateFHIRAppointment)},
		{"GET", bulkPattern + bulkPublish, anyone, s.getBulk(bulkPublish)},
		{"GET", bulkPattern + "locations.ndjson", anyone, s.getBulk("locations.ndjson")},
		{"GET", bulkPattern + "schedules.ndjson", anyone, s.getBulk("schedules.ndjson")},
		{"GET", bulkPattern + "slots.ndjson", anyone, s.getBulk("slots.ndjson")},
		{"GET", "/docs", anyone, s.getManual},
		{"GET", "/docs/api", anyone, s.getManual},
		{"GET", "/docs/errors", anyone, s.getManual},
	}
}

// Handler returns the handler of all requests.
func (s *Server) Handler() http.Handler { return s.router }

// Local returns a handler that serves every request with full access, as the administrator of this machine. Use it for
// a listener that no other user can reach.
func (s *Server) Local() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.router.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), localKey{}, true)))
	})
}

// localKey is the context key that marks requests to Local's handler.
type localKey struct{}

// Run does the background work until ctx ends, and returns when all background work has stopped.
func (s *Server) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, work := range s.work {
		all.Go(func() { work(ctx) })
	}
	all.Wait()
}
