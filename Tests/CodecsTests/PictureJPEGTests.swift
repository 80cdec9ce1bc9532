import Testing

@testable import Codecs

@Suite struct PictureJPEGTests {
    @Test(arguments: [(320, 180), (320, 66), (160, 480), (2, 2)])
    func `a JPEG has the size and the colours of its picture`(width: Int, height: Int) throws {
        let picture = Picture(width: width, height: height)
        picture.fill(y: 145, u: 54, v: 34)
        let file = try picture.jpegData()
        #expect(file.starts(with: [0xFF, 0xD8, 0xFF]) && file.suffix(2) == [0xFF, 0xD9] && file.count < 8000)
        let image = try StillImage(file, limits: .init(bytes: 1 << 20, pixels: 1 << 20, side: 1000))
        #expect(image.width == width && image.height == height)
        // BT.601: pure green.
        let (blue, green, red) = (Int(image.pixels[0]), Int(image.pixels[1]), Int(image.pixels[2]))
        #expect(blue < 12 && green > 243 && red < 12, "\(red) \(green) \(blue)")
    }
}
