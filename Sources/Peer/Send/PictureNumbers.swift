import Basics

/// The numbers of a VP8 descriptor that continue per peer (RFC 7741 §4.2), whichever encoder the pictures come from.
struct PictureNumbers: Sendable, Equatable {
    /// 15 bits.
    var pictureID: UInt16
    /// Counts pictures of the base layer.
    var tl0: UInt8

    /// Advances to the next picture that is sent; dropped ones leave no gap.
    mutating func advance(temporalLayer: UInt8) {
        pictureID = (pictureID &+ 1) & 0x7FFF
        if temporalLayer == 0 { tl0 &+= 1 }
    }
}
