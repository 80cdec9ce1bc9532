import Basics
import Mixing
package import Peer
package import Threads

/// The server's services that a room's media use.
package struct MediaServices: Sendable {
    /// Delivers a frame of a rendition to its members on these loops.
    package typealias Deliver = @Sendable (RenditionKey, PacketizedVideoFrame, PictureTrace, _ loops: [Int]) -> Void

    package let pool: WorkPool
    package let meters: StageMeters
    package let overload: OverloadState
    package let audio: AudioClock
    package let video: VideoClock
    package let decode: DecodeServices
    /// Called on the encoders' lanes.
    package let deliver: Deliver
    /// Takes an encoder's failure, for the log.
    package let report: @Sendable (String) -> Void
    /// The time; in simulations it stands still until they move it.
    var now: @Sendable () -> Instant { decode.now }
    /// Has all peers of a room choose what they get again. Called on any thread.
    package let refresh: @Sendable (_ room: String) -> Void

    package init(
        pool: WorkPool, meters: StageMeters, overload: OverloadState, audio: AudioClock, video: VideoClock,
        decode: DecodeServices, deliver: @escaping Deliver,
        report: @escaping @Sendable (String) -> Void, refresh: @escaping @Sendable (_ room: String) -> Void = { _ in }
    ) {
        self.pool = pool
        self.meters = meters
        self.overload = overload
        self.audio = audio
        self.video = video
        self.decode = decode
        self.deliver = deliver
        self.report = report
        self.refresh = refresh
    }
}
