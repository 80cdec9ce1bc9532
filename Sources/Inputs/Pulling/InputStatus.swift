package import FoundationEssentials

/// The state of an input.
package struct InputStatus: Hashable, Sendable {
    package enum Phase: String, Sendable, CaseIterable {
        /// Before its first packet.
        case connecting
        case live
        /// The source is lost or could not be opened, and is tried again.
        case retrying
        /// It is not tried again.
        case failed
        /// The source came to its end.
        case ended

        package var isOver: Bool { self == .failed || self == .ended }
    }

    package var phase = Phase.connecting
    /// When the phase began.
    package var since: Date
    /// Attempts in vain since it was live last.
    package var attempts = 0
    /// Why it is retrying or has failed.
    package var reason: String?

    package init(since: Date) { self.since = since }
}
