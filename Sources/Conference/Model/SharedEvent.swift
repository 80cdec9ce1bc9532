import Basics

/// One event, as all who are told of it get it: the same object for everyone, so that what an endpoint makes of it is
/// made once.
public final class SharedEvent: Sendable {
    public let event: ParticipantEvent
    private let forms = Guarded<[String: any Sendable]>([:])

    public init(_ event: ParticipantEvent) { self.event = event }

    /// What an endpoint makes of the event, such as its JSON. The first who asks for a form makes it, all others get
    /// that one.
    ///
    /// - Parameter name: tells the forms of one event apart; a name stands for one type of form.
    public func form<Form: Sendable>(_ name: String, _ make: () -> Form) -> Form {
        forms.withLock { forms in
            if let known = forms[name] as? Form { return known }
            let made = make()
            forms[name] = made
            return made
        }
    }
}

extension SharedEvent: Equatable {
    public static func == (one: SharedEvent, other: SharedEvent) -> Bool { one === other || one.event == other.event }
}
