package import Basics
package import Peer

/// What a participant is asked to send at most: what its tiles need, and no more than the links carry of those who get
/// its frames as they come.
package struct ReceiveLimits: Sendable {
    /// By the tiles; nil: not known yet.
    package var tiles: SenderLimits?
    /// Of the pictures that are forwarded.
    package var forwarded: [VideoSource: BitRate] = [:]

    package init() {}

    /// Of all pictures together; nil: no limit is known yet.
    package var rate: BitRate? {
        guard let tiles else { return nil }
        func rate(_ source: VideoSource, _ limit: SenderLimit) -> BitRate {
            forwarded[source].map { min($0, limit.rate) } ?? limit.rate
        }
        return rate(.camera, tiles.camera) + rate(.screen, tiles.screen)
    }
}
