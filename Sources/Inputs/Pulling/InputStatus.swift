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
    /// What the source has: nothing before it is live, and nothing once a lost source did not come back at once. Until
    /// then its last picture stands, as that of a person's camera.
    package var hasVideo = false
    package var hasAudio = false

    package init(since: Date) { self.since = since }

    /// - Parameter media: what the source has; nil: it is not open.
    mutating func take(_ media: (video: Bool, audio: Bool)?, attempts: Int) {
        if media == nil, attempts == 1 { return }
        (hasVideo, hasAudio) = media ?? (false, false)
    }
}
