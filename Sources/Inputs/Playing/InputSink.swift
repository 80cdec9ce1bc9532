package import Basics
package import Codecs

/// What takes an input's pictures and audio: a participant's intake. One thread uses it at a time.
package protocol InputSink: AnyObject {
    /// Whether anybody sees the pictures; otherwise none need be decoded.
    var isShown: Bool { get }
    /// Charges a picture to the budgets of decoding; false: it must not be decoded. Zero: the size is not known yet.
    func admits(width: Int, height: Int, at now: Instant) -> Bool
    func show(_ picture: Picture, rotation: Rotation, captureTime: Instant, at now: Instant)
    func countFault()
    /// Takes mono samples at 48 kHz. `position` is that of the first on the source's clock, in samples.
    func hear(_ samples: [Float], position: Int64, captureTime: Instant, at now: Instant)
    /// What follows is a new stream.
    func restart()
}
