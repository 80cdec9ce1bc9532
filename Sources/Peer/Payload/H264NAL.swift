import Basics

/// The NAL unit types that only RTP uses (RFC 6184 §5.2), and the picture size in a parameter set.
enum H264NAL {
    static let stapA: UInt8 = 24
    static let fuA: UInt8 = 28

    /// A larger size is rejected.
    private static let largestSide = 16_384

    /// The size of the pictures that a sequence parameter set describes, cropped; nil if it is malformed or larger than
    /// 16,384 on a side. `nal` starts with the NAL header byte.
    static func pictureSize(ofSPS nal: Span<UInt8>) -> (width: Int, height: Int)? {
        guard let set = H264SequenceParameterSet(nal), let size = set.shownSize,
            max(set.codedWidth, set.codedHeight) <= largestSide
        else { return nil }
        return (size.width, size.height)
    }
}
