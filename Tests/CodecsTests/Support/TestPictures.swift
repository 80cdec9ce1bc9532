import Basics
import Codecs
import Glibc

/// A moving scene that is not trivial for either codec: gradients, a disc and grain, all determined by the frame's
/// number.
func scene(_ index: Int, width: Int = 320, height: Int = 240) -> Picture {
    let picture = Picture(width: width, height: height)
    var random = SeededRandom(seed: UInt64(index))
    let centreX = width / 2 + Int(Double(width / 4) * cos(Double(index) / 9))
    let centreY = height / 2 + Int(Double(height / 4) * sin(Double(index) / 7))
    var noise = random.next()
    let (disc, luma, stride) = (width * height / 40, picture.y, picture.yStride)
    var row = 0
    // `while` over plain variables: this makes most of what the tests of this target take in a debug build.
    while row < height {
        let dy = row - centreY
        var (column, at) = (0, row * stride)
        while column < width {
            if column & 15 == 0 { noise = random.next() }
            let dx = column - centreX
            let base = dx &* dx &+ dy &* dy < disc ? 200 : 40 &+ (column &+ row &+ index) % 120
            luma[at] = UInt8(truncatingIfNeeded: base &+ Int(truncatingIfNeeded: noise & 7))
            noise >>= 4
            (column, at) = (column &+ 1, at &+ 1)
        }
        row += 1
    }
    for row in 0..<picture.chromaHeight {
        for column in 0..<picture.chromaWidth {
            picture.u[row * picture.uStride + column] = UInt8(90 + column * 70 / picture.chromaWidth)
            picture.v[row * picture.vStride + column] = UInt8(90 + row * 70 / picture.chromaHeight)
        }
    }
    return picture
}

/// Peak signal to noise ratio of luma, in dB.
func luminancePSNR(_ a: Picture, _ b: Picture) -> Double {
    guard a.width == b.width, a.height == b.height else { return 0 }
    var sum = 0
    let (first, second) = (a.y, b.y)
    for row in 0..<a.height {
        let (inFirst, inSecond) = (row * a.yStride, row * b.yStride)
        var column = 0
        while column < a.width {
            let difference = Int(first[inFirst &+ column]) &- Int(second[inSecond &+ column])
            sum &+= difference &* difference
            column &+= 1
        }
    }
    return sum == 0 ? 99 : 10 * log10(255 * 255 * Double(a.width * a.height) / Double(sum))
}

/// The configuration of an encoder at 30 frames a second.
func configuration(
    _ codec: VideoCodec, rate: BitRate = .kilobits(600), width: Int = 320, height: Int = 240
) -> VideoEncoderConfiguration {
    VideoEncoderConfiguration(codec: codec, width: width, height: height, framesPerSecond: 30, bitRate: rate)
}
