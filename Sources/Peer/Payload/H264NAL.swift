import Basics

/// NAL unit types that only RTP knows, beside those of H.264 (RFC 6184 §5.2), and the size that a parameter set tells.
enum H264NAL {
    static let stapA: UInt8 = 24
    static let fuA: UInt8 = 28

    /// Larger pictures are not believed.
    private static let largestSide = 16_384

    /// The size of the pictures that a sequence parameter set describes, cropped; nil when it is broken or larger than
    /// 16,384 on a side. `nal` starts with the NAL header byte.
    static func pictureSize(ofSPS nal: Span<UInt8>) -> (width: Int, height: Int)? {
        guard let set = H264SequenceParameterSet(nal), let size = set.shownSize,
            max(set.codedWidth, set.codedHeight) <= largestSide
        else { return nil }
        return (size.width, size.height)
    }
}
