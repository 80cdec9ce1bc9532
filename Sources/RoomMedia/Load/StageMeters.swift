import Basics
package import Threads

/// The meters of the server's media stages.
package struct StageMeters: Sendable {
    package let decode = StageMeter("decode")
    package let compose = StageMeter("compose")
    package let encode = StageMeter("encode")
    package let audio = StageMeter("audio")
    package let network = StageMeter("network")
    package let snapshot = StageMeter("snapshot")
    package let delays = PictureDelays()
    package let intake = IntakeCounters()
    /// Of all rooms together.
    package let quality = MediaQuality()

    package init() {}

    package var all: [StageMeter] { [network, decode, compose, encode, audio, snapshot] }
}
