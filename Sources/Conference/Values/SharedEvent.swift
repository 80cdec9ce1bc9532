import Basics

/// One event for many receivers, which is encoded once for all of them.
package final class Shared<Event: Sendable>: Sendable {
    package let event: Event
    private let forms = Guarded<[String: any Sendable]>([:])

    package init(_ event: Event) { self.event = event }

    /// A form of the event, such as its JSON. The first call for a form makes it, later calls return the same one.
    ///
    /// - Parameter name: identifies the form among those of the event; a name stands for one type.
    package func form<Form: Sendable>(_ name: String, _ make: () -> Form) -> Form {
        forms.withLock { forms in
            if let known = forms[name] as? Form { return known }
            let made = make()
            forms[name] = made
            return made
        }
    }
}

extension Shared: Equatable where Event: Equatable {
    package static func == (one: Shared, other: Shared) -> Bool { one === other || one.event == other.event }
}

/// An event for participants' endpoints.
package typealias SharedEvent = Shared<ParticipantEvent>
