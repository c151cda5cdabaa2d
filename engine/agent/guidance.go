package agent

import "time"

// Guidance tells a voice or chat agent what to do next. It is constant text with two kinds of insertions: a date, in a
// form that cannot be misheard, and the texts in the clinic's settings (AgentTexts). It contains nothing that callers
// typed.
type Guidance struct {
	ErrorType     string   `json:"error_type,omitempty"`
	CurrentState  string   `json:"current_state,omitempty"`
	NextState     string   `json:"next_state,omitempty"`
	Action        string   `json:"action_required,omitempty"`
	VoiceResponse string   `json:"voice_response"`
	Critical      string   `json:"CRITICAL,omitempty"`
	Chain         []string `json:"chain_of_action,omitempty"`
	NeverDo       []string `json:"never_do,omitempty"`
	RecoverySteps []string `json:"recovery_steps,omitempty"`
}

// sayPlaces is a step for slots at the clinic's places.
const sayPlaces = "Say the name of the place with each time."

// The last steps of a call, in this order.
const (
	askMore    = "Ask whether the caller needs anything else."
	sayGoodbye = "If not, thank the caller, say goodbye and end the call."
)

// guidances returns the model's instructions for one outcome. The sentence to say aloud is in package words.
func guidances(of string) Guidance {
	switch of {
	case sayPatient:
		return Guidance{
			CurrentState: "PATIENT_IDENTIFIED", NextState: "SLOT_SELECTION", Action: "offer_slots",
			Chain: []string{
				"Ask for slots of the appointment type the caller wants.",
				"Keep patientGUID and bookingAuthToken exactly as they are and send both with the booking.",
			},
			NeverDo: []string{
				"Never read the patientGUID or the bookingAuthToken aloud.", "Never change or shorten either of them.",
			},
		}
	case saySlots:
		return Guidance{
			CurrentState: "SLOT_SELECTION", NextState: "BOOKING", Action: "let_caller_choose_slot",
			Chain: []string{
				"Read the spoken dates aloud, two or three at a time.",
				"When the caller has chosen, send the bookingToken of that slot unchanged.",
			},
			NeverDo: []string{
				"Never offer a time that is not in the list.",
				"Never say that a time is booked before the booking was confirmed.",
			},
		}
	case sayNoSlots:
		return Guidance{
			CurrentState: "SLOT_SELECTION", NextState: "SLOT_SELECTION", Action: "ask_for_other_days",
			Chain:   []string{"Ask for slots again from a later date, or without a part of the day."},
			NeverDo: []string{"Never offer a time that is not in the list."},
		}
	case sayConfirmed:
		return Guidance{
			CurrentState: "CONFIRMATION", Action: "confirm_booking_to_caller",
			Chain: []string{
				"Tell the caller the date and time.",
				"Ask whether another member of the family needs an appointment; the same patientGUID books for each " +
					"of them.",
				askMore,
				sayGoodbye,
			},
		}
	case sayQueued:
		return Guidance{
			CurrentState: "BOOKING_QUEUED", NextState: "CONFIRMATION_PENDING", Action: "inform_caller_queued",
			Chain: []string{
				"Tell the caller that the booking was received and is not yet confirmed.",
				"Tell the caller that the time is kept and nothing more needs to be done.",
				askMore,
				sayGoodbye,
				"After the call, fetch the operation if you need its outcome.",
			},
			NeverDo: []string{
				"Never say that the appointment is confirmed.",
				"Never send the same booking again: it will be delivered without you.",
				"Never offer the same time to anybody else.",
				"Never say that the booking failed, or that something went wrong.",
				"Never mention rate limits, queues, or that too much is going on.",
				"Never mention system issues, errors, delays or further attempts.",
			},
		}
	case sayRejected:
		return Guidance{
			ErrorType: "booking_auth_failed",
			Critical: "First call POST /v1/agent/patients again. Nothing was booked, so do not tell the caller that " +
				"it was.",
			RecoverySteps: []string{
				"Call POST /v1/agent/patients again to get a new patientGUID and bookingAuthToken.",
				"Send the booking again with both of them, taken from the same answer, unchanged.",
				"If it fails again, hand the call over to a person. Never make up a patientGUID or a bookingAuthToken.",
			},
		}
	case sayTaken:
		return Guidance{
			ErrorType: "slot_unavailable", CurrentState: "SLOT_SELECTION", NextState: "SLOT_SELECTION",
			Action: "offer_alternatives",
			Chain: []string{
				"Offer the alternatives in the answer; if there are none, ask for slots again.",
				"Send the bookingToken of the one that the caller chooses.",
			},
			NeverDo: []string{"Never send the same slot again.", "Never say that anything was booked."},
		}
	case sayNoPatient:
		return Guidance{
			ErrorType: "patient_not_found", CurrentState: "PATIENT_IDENTIFICATION", NextState: "PATIENT_IDENTIFICATION",
			Action:   "identify_patient_again",
			Critical: "Nothing was booked. Do not tell the caller that it was.",
			RecoverySteps: []string{
				"Identify the patient again to get a new patientGUID and bookingAuthToken.",
				"Send the booking again with them.",
			},
			NeverDo: []string{"Never make up a patientGUID."},
		}
	case sayNotAccepted:
		return Guidance{
			ErrorType: "booking_not_accepted", CurrentState: "BOOKING_FAILED", NextState: "HANDOVER",
			Action:        "hand_over_to_person",
			Critical:      "Nothing was booked. Do not tell the caller that it was.",
			RecoverySteps: []string{"Hand the call over to a person, or take a message."},
			NeverDo:       []string{"Never send the same booking again."},
		}
	case sayPatientRefused:
		return Guidance{
			ErrorType: "patient_not_accepted", CurrentState: "PATIENT_IDENTIFICATION",
			NextState: "PATIENT_IDENTIFICATION", Action: "ask_for_details_again",
			Critical: "Nothing was booked. Do not tell the caller that it was.",
			RecoverySteps: []string{
				"Ask for name, date of birth and telephone number again and send them once more.",
				"If it fails again, hand the call over to a person, or take a message.",
			},
			NeverDo: []string{"Never make up a detail."},
		}
	case sayOfferLapsed:
		return Guidance{
			ErrorType: "booking_token_refused", CurrentState: "SLOT_SELECTION", NextState: "SLOT_SELECTION",
			Action:   "ask_for_slots_again",
			Critical: "Nothing was booked. Do not tell the caller that it was.",
			RecoverySteps: []string{
				"Ask for slots again.",
				"Send the bookingToken of the chosen slot unchanged, once, and for the patient who chose it.",
			},
			NeverDo: []string{
				"Never change or shorten a bookingToken.", "Never use the bookingToken of one patient for another.",
			},
		}
	case sayInvalid:
		return Guidance{
			ErrorType: "invalid_request", Action: "correct_request",
			Critical: "Nothing was done. Do not tell the caller that it was.",
			RecoverySteps: []string{
				"Correct the fields listed in errors and send the request again.",
				"If it fails again, hand the call over to a person.",
			},
		}
	case sayAskBirthDate:
		return askGuidance("ask_for_birth_date", "Ask for the patient's date of birth.")
	case sayAskPhone:
		return askGuidance("ask_for_phone", "Ask for the telephone number that the clinic has.")
	case sayAskEmail:
		return askGuidance("ask_for_email", "Ask for the email address that the clinic has.")
	case sayNoMatch:
		return askGuidance("ask_for_name_birth_date_and_phone",
			"Ask for full name, date of birth and telephone number, and leave the patientGUID out.")
	case sayAskPerson:
		g := askGuidance("hand_over_to_person", "")
		g.NextState, g.RecoverySteps = "HANDOVER", []string{"Hand the call over to a person, or take a message."}
		return g
	case sayKey:
		return Guidance{
			ErrorType: "not_allowed", NextState: "HANDOVER", Action: "hand_over_to_person",
			Critical: "Nothing was done. Do not tell the caller that it was.",
			RecoverySteps: []string{
				"Hand the call over to a person, or take a message.",
				"Tell the operator of this agent that its API key was refused.",
			},
			NeverDo: []string{
				"Never send the request again with the same key.", "Never ask the caller for a key or a password.",
			},
		}
	case sayBusy:
		return Guidance{
			ErrorType: "busy", Action: "retry_once_or_hand_over",
			Critical: "Nothing was done. Do not tell the caller that it was.",
			RecoverySteps: []string{
				"Wait for the number of seconds in retryAfterSeconds, then send the same request again.",
				"If it fails again, hand the call over to a person.",
			},
			NeverDo: []string{
				"Never send the request again at once.", "Never tell the caller about limits or system issues.",
			},
		}
	case sayOpen:
		return Guidance{
			ErrorType: "outcome_unknown", Action: "repeat_unchanged_or_hand_over",
			Critical: "It is not known whether it was done. Do not say that it is confirmed, and do not say that it " +
				"failed.",
			RecoverySteps: []string{
				"Send the very same request once more after a few seconds: it is not done twice.",
				"If it fails again, hand the call over to a person and say what was asked for.",
			},
			NeverDo: []string{
				"Never change the request before it was answered.", "Never say that the appointment is confirmed.",
				"Never say that it failed.",
			},
		}
	case sayNoOperation:
		return Guidance{
			ErrorType: "operation_not_found", Action: "hand_over_to_person",
			Critical: "The outcome of the booking is unknown. Do not say that it is confirmed, and do not say that " +
				"it failed.",
			RecoverySteps: []string{
				"Check that the operationId is the one of the queued answer, unchanged.",
				"If it is, the clinic has taken the booking over: hand the call over to a person.",
			},
			NeverDo: []string{"Never send the same booking again."},
		}
	case sayPatientOpen:
		return Guidance{
			ErrorType: "patient_outcome_unknown", CurrentState: "PATIENT_IDENTIFICATION", NextState: "HANDOVER",
			Action:        "hand_over_to_person",
			Critical:      "It is not known whether the patient was added. Nothing was booked.",
			RecoverySteps: []string{"Hand the call over to a person, or take a message."},
			NeverDo:       []string{"Never send the patient again: they might be added twice."},
		}
	case sayUnreachable:
		return Guidance{
			ErrorType: "upstream_unavailable", NextState: "HANDOVER", Action: "retry_once_or_hand_over",
			Critical: "Nothing was done. Do not tell the caller that it was.",
			RecoverySteps: []string{
				"Try again after 30 seconds.", "If it fails again, hand the call over to a person, or take a message.",
			},
			NeverDo: []string{"Never make up a time, a patientGUID or a confirmation."},
		}
	case sayStillQueued:
		return Guidance{
			CurrentState: "BOOKING_QUEUED", NextState: "CONFIRMATION_PENDING", Action: "inform_caller_queued",
			Chain: []string{"Ask for the operation again later."},
			NeverDo: []string{
				"Never say that the appointment is confirmed.",
				"Never send the same booking again.",
				"Never say that the booking failed, or that something went wrong.",
				"Never mention rate limits, queues, system issues, errors or further attempts.",
			},
		}
	case sayFailed:
		return Guidance{
			CurrentState: "BOOKING_FAILED", NextState: "HANDOVER", Action: "hand_over_to_person",
			Chain: []string{
				"Tell the caller that the booking could not be completed.",
				"Hand the call over to a person, or offer to look for another time.",
			},
			NeverDo: []string{"Never say that the appointment is confirmed."},
		}
	case sayReview:
		return Guidance{
			CurrentState: "BOOKING_REVIEW", NextState: "CONFIRMATION_PENDING", Action: "hand_over_to_person",
			Chain: []string{"Tell the caller that a person of the clinic is looking at it."},
			NeverDo: []string{
				"Never say that the appointment is confirmed.", "Never say that it failed.",
				"Never send the same booking again.",
			},
		}
	}
	return Guidance{
		CurrentState: "BOOKING_CANCELLED", Action: "inform_caller_cancelled",
		Chain:   []string{"Ask whether the caller would like another time."},
		NeverDo: []string{"Never say that the appointment is confirmed."},
	}
}

// askGuidance asks for the details still needed to identify the patient. It never names a candidate.
func askGuidance(action, step string) Guidance {
	return Guidance{
		ErrorType: "patient_ambiguous", CurrentState: "PATIENT_IDENTIFICATION", NextState: "PATIENT_IDENTIFICATION",
		Action: action, Critical: "Nothing was booked and no patient was added. Do not tell the caller otherwise.",
		RecoverySteps: []string{step, "Send the patient again with it.",
			"If it fails again, hand the call over to a person."},
		NeverDo: []string{"Never say whether the clinic knows a patient, or by which name.",
			"Never make up a detail."},
	}
}

// The keys of the entries that guidances returns.
const (
	sayPatient        = "patient"
	saySlots          = "slots"
	sayNoSlots        = "no_slots"
	sayConfirmed      = "confirmed"
	sayQueued         = "queued"
	sayRejected       = "rejected"
	sayTaken          = "taken"
	sayNoPatient      = "no_patient"
	sayNotAccepted    = "not_accepted"
	sayOfferLapsed    = "offer_lapsed"
	sayInvalid        = "invalid"
	sayPatientOpen    = "patient_open"
	sayUnreachable    = "away"
	sayStillQueued    = "still_queued"
	sayFailed         = "failed"
	sayReview         = "review"
	sayNoOperation    = "no_operation"
	sayPatientRefused = "patient_refused"
	sayAskBirthDate   = "ask_birth_date"
	sayAskPhone       = "ask_phone"
	sayAskEmail       = "ask_email"
	sayAskPerson      = "ask_person"
	sayNoMatch        = "no_match"
	sayKey            = "key"
	sayBusy           = "busy"
	sayOpen           = "open"
	sayCancelled      = "cancelled"
)

// guide returns the guidance for one outcome, with the sentence to say aloud. The date is inserted into the sentence.
func (ag *Agent) guide(of string, at time.Time) Guidance {
	g, date := guidances(of), ag.say(voiceThatTime)
	if !at.IsZero() {
		date = ag.Spoken(at)
	}
	g.VoiceResponse = ag.say(of, "date", date)
	return g
}

// Problem is the reason why a request from an agent could not be fulfilled.
type Problem string

const (
	ProblemRequest     Problem = sayInvalid     // the request is invalid; nothing was done
	ProblemKey         Problem = sayKey         // the API key does not allow this; nothing was done
	ProblemBusy        Problem = sayBusy        // too many requests; nothing was done
	ProblemUnreachable Problem = sayUnreachable // there was no response; nothing was done
	ProblemOpen        Problem = sayOpen        // the outcome is unknown
	ProblemTaken       Problem = sayTaken       // the time is not free
	ProblemNoChange    Problem = "no_change"    // the appointment cannot be changed this way; nothing was done
	ProblemNoOperation Problem = sayNoOperation // there is no such operation, or it has been deleted
)

// ProblemSentence returns the sentence to say aloud about a problem, in the language of the clinic's agents.
func (ag *Agent) ProblemSentence(p Problem) string {
	return ag.say(string(p), "date", ag.say(voiceThatTime))
}

// ProblemGuidance returns the guidance for a problem.
func (ag *Agent) ProblemGuidance(p Problem) Guidance { return ag.guide(string(p), time.Time{}) }
