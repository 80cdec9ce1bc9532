import Basics

/// One event, shared by all its receivers, so that an endpoint encodes it once.
public final class SharedEvent: Sendable {
    public let event: ParticipantEvent
    private let forms = Guarded<[String: any Sendable]>([:])

    public init(_ event: ParticipantEvent) { self.event = event }

    /// A form of the event, such as its JSON. The first call for a form makes it, later calls return the same one.
    ///
    /// - Parameter name: identifies the form among those of the event; a name stands for one type.
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
