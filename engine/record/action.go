package record

// Action names what an audit entry records: a noun, a period and a verb, such as "override.deleted". The database, the
// API and the console's texts use these names, so a name never changes.
type Action string

// The actions of the audit log.
const (
	ActionAbsenceCreated                 Action = "absence.created"
	ActionAbsenceTimeAccepted            Action = "absence.time_accepted"
	ActionAbsenceTimeDeclined            Action = "absence.time_declined"
	ActionAbsenceUndone                  Action = "absence.undone"
	ActionAPIKeyCreated                  Action = "apikey.created"
	ActionAPIKeyRevoked                  Action = "apikey.revoked"
	ActionAppointmentAttendance          Action = "appointment.attendance"
	ActionAppointmentCalendarEnded       Action = "appointment.calendar_ended"
	ActionAppointmentCancelled           Action = "appointment.cancelled"
	ActionAppointmentCreated             Action = "appointment.created"
	ActionAppointmentDisplaced           Action = "appointment.displaced"
	ActionAppointmentPatientChanged      Action = "appointment.patient_changed"
	ActionAppointmentRecall              Action = "appointment.recall"
	ActionAppointmentRescheduled         Action = "appointment.rescheduled"
	ActionAppointmentTold                Action = "appointment.told"
	ActionAppointmentUndone              Action = "appointment.undone"
	ActionAppointmentUpdated             Action = "appointment.updated"
	ActionAppointmentUpstreamCompleted   Action = "appointment.upstream.completed"
	ActionAppointmentUpstreamFailed      Action = "appointment.upstream.failed"
	ActionAppointmentUpstreamNeedsReview Action = "appointment.upstream.needs_review"
	ActionAppointmentUpstreamRefused     Action = "appointment.upstream.refused"
	ActionAppointmentsDowntimeKit        Action = "appointments.downtime_kit"
	ActionAppointmentsExported           Action = "appointments.exported"
	ActionAppointmentsImported           Action = "appointments.imported"
	ActionAppointmentTypeArchived        Action = "appointmenttype.archived"
	ActionAppointmentTypeChanged         Action = "appointmenttype.changed"
	ActionAppointmentTypeCreated         Action = "appointmenttype.created"
	ActionAppointmentTypesOrdered        Action = "appointmenttypes.ordered"
	ActionBlockCreated                   Action = "block.created"
	ActionBlockDeleted                   Action = "block.deleted"
	ActionBlocksCreated                  Action = "blocks.created"
	ActionBlocksDeleted                  Action = "blocks.deleted"
	ActionClinicChanged                  Action = "clinic.changed"
	ActionClinicImported                 Action = "clinic.imported"
	ActionClinicSetUp                    Action = "clinic.set_up"
	ActionOperationExists                Action = "operation.exists"
	ActionOperationGivenUp               Action = "operation.given_up"
	ActionOperationRetried               Action = "operation.retried"
	ActionOverrideDeleted                Action = "override.deleted"
	ActionOverridePut                    Action = "override.put"
	ActionPersonErased                   Action = "person.erased"
	ActionPersonLinked                   Action = "person.linked"
	ActionPersonNoteDeleted              Action = "person.note_deleted"
	ActionPersonNoted                    Action = "person.noted"
	ActionPersonUnlinked                 Action = "person.unlinked"
	ActionRequestCreated                 Action = "request.created"
	ActionRequestDeclined                Action = "request.declined"
	ActionRequestLapsed                  Action = "request.lapsed"
	ActionRequestProposed                Action = "request.proposed"
	ActionSettingsChanged                Action = "settings.changed"
	ActionSettingsMailChanged            Action = "settings.mail_changed"
	ActionSettingsMailSealed             Action = "settings.mail_sealed"
	ActionSettingsOpenIDChanged          Action = "settings.openid_changed"
	ActionSettingsOpenIDSealed           Action = "settings.openid_sealed"
	ActionSettingsSMSChanged             Action = "settings.sms_changed"
	ActionSettingsSMSSealed              Action = "settings.sms_sealed"
	ActionSpecialistArchived             Action = "specialist.archived"
	ActionSpecialistBusyCalendarRemoved  Action = "specialist.busy_calendar_removed"
	ActionSpecialistBusyCalendarSet      Action = "specialist.busy_calendar_set"
	ActionSpecialistChanged              Action = "specialist.changed"
	ActionSpecialistCreated              Action = "specialist.created"
	ActionSpecialistFeedEnded            Action = "specialist.feed_ended"
	ActionSpecialistFeedMade             Action = "specialist.feed_made"
	ActionSpecialistPictureDeleted       Action = "specialist.picture_deleted"
	ActionSpecialistPicturePut           Action = "specialist.picture_put"
	ActionUserChanged                    Action = "user.changed"
	ActionUserCreated                    Action = "user.created"
	ActionUserLinked                     Action = "user.linked"
	ActionUserPassword                   Action = "user.password"
	ActionUserSignInFailed               Action = "user.sign_in_failed"
	ActionUserSignedIn                   Action = "user.signed_in"
	ActionUserTOTPDisabled               Action = "user.totp_disabled"
	ActionUserTOTPEnabled                Action = "user.totp_enabled"
	ActionWeeklyHoursReplaced            Action = "weeklyhours.replaced"
	ActionWaitlistBooked                 Action = "waitlist.booked"
	ActionWaitlistConfirmed              Action = "waitlist.confirmed"
	ActionWaitlistJoined                 Action = "waitlist.joined"
	ActionWaitlistLapsed                 Action = "waitlist.lapsed"
	ActionWaitlistOfferAccepted          Action = "waitlist.offer_accepted"
	ActionWaitlistOfferDeclined          Action = "waitlist.offer_declined"
	ActionWaitlistOfferLapsed            Action = "waitlist.offer_lapsed"
	ActionWaitlistOfferWithdrawn         Action = "waitlist.offer_withdrawn"
	ActionWaitlistOffered                Action = "waitlist.offered"
	ActionWaitlistRemoved                Action = "waitlist.removed"
)

// Actions lists every action that the engine records.
func Actions() []Action {
	return []Action{
		ActionAbsenceCreated,
		ActionAbsenceTimeAccepted,
		ActionAbsenceTimeDeclined,
		ActionAbsenceUndone,
		ActionAPIKeyCreated,
		ActionAPIKeyRevoked,
		ActionAppointmentAttendance,
		ActionAppointmentCalendarEnded,
		ActionAppointmentCancelled,
		ActionAppointmentCreated,
		ActionAppointmentDisplaced,
		ActionAppointmentPatientChanged,
		ActionAppointmentRecall,
		ActionAppointmentRescheduled,
		ActionAppointmentTold,
		ActionAppointmentUndone,
		ActionAppointmentUpdated,
		ActionAppointmentUpstreamCompleted,
		ActionAppointmentUpstreamFailed,
		ActionAppointmentUpstreamNeedsReview,
		ActionAppointmentUpstreamRefused,
		ActionAppointmentsDowntimeKit,
		ActionAppointmentsExported,
		ActionAppointmentsImported,
		ActionAppointmentTypeArchived,
		ActionAppointmentTypeChanged,
		ActionAppointmentTypeCreated,
		ActionAppointmentTypesOrdered,
		ActionBlockCreated,
		ActionBlockDeleted,
		ActionBlocksCreated,
		ActionBlocksDeleted,
		ActionClinicChanged,
		ActionClinicImported,
		ActionClinicSetUp,
		ActionOperationExists,
		ActionOperationGivenUp,
		ActionOperationRetried,
		ActionOverrideDeleted,
		ActionOverridePut,
		ActionPersonErased,
		ActionPersonLinked,
		ActionPersonNoteDeleted,
		ActionPersonNoted,
		ActionPersonUnlinked,
		ActionRequestCreated,
		ActionRequestDeclined,
		ActionRequestLapsed,
		ActionRequestProposed,
		ActionSettingsChanged,
		ActionSettingsMailChanged,
		ActionSettingsMailSealed,
		ActionSettingsOpenIDChanged,
		ActionSettingsOpenIDSealed,
		ActionSettingsSMSChanged,
		ActionSettingsSMSSealed,
		ActionSpecialistArchived,
		ActionSpecialistBusyCalendarRemoved,
		ActionSpecialistBusyCalendarSet,
		ActionSpecialistChanged,
		ActionSpecialistCreated,
		ActionSpecialistFeedEnded,
		ActionSpecialistFeedMade,
		ActionSpecialistPictureDeleted,
		ActionSpecialistPicturePut,
		ActionUserChanged,
		ActionUserCreated,
		ActionUserLinked,
		ActionUserPassword,
		ActionUserSignInFailed,
		ActionUserSignedIn,
		ActionUserTOTPDisabled,
		ActionUserTOTPEnabled,
		ActionWeeklyHoursReplaced,
		ActionWaitlistBooked,
		ActionWaitlistConfirmed,
		ActionWaitlistJoined,
		ActionWaitlistLapsed,
		ActionWaitlistOfferAccepted,
		ActionWaitlistOfferDeclined,
		ActionWaitlistOfferLapsed,
		ActionWaitlistOfferWithdrawn,
		ActionWaitlistOffered,
		ActionWaitlistRemoved,
	}
}
