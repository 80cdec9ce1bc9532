import Threads

/// The meters of the whole server.
struct StageMeters: Sendable {
    let decode = StageMeter("decode")
    let compose = StageMeter("compose")
    let encode = StageMeter("encode")
    let audio = StageMeter("audio")
    let network = StageMeter("network")
    let snapshot = StageMeter("snapshot")
    let delays = PictureDelays()
    let intake = IntakeCounters()
    var all: [StageMeter] { [network, decode, compose, encode, audio, snapshot] }
}
