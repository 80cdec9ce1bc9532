import Basics

/// The numbers in a VP8 descriptor that run per peer (RFC 7741 §4.2), whatever encoder the pictures come from.
struct PictureNumbers: Sendable, Equatable {
    /// 15 bits.
    var pictureID: UInt16
    /// Counts pictures of the base layer.
    var tl0: UInt8

    /// Moves on to the next picture that is really sent; dropped ones leave no gap.
    mutating func advance(temporalLayer: UInt8) {
        pictureID = (pictureID &+ 1) & 0x7FFF
        if temporalLayer == 0 { tl0 &+= 1 }
    }
}
