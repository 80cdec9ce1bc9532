import Basics
import Codecs
import Testing

@Suite struct PicturePNGTests {
    @Test("A PNG file preserves colours", arguments: [(64, 48), (33, 17)])
    func png(width: Int, height: Int) throws {
        let picture = Picture(width: width, height: height)
        picture.fill(y: 81, u: 90, v: 240)
        let data = try picture.pngData()
        #expect(Array(data.prefix(8)) == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        let back = try Picture.load(png: data)
        #expect(back.width == width && back.height == height)
        #expect(abs(Int(back.y[0]) - 81) <= 2 && abs(Int(back.u[0]) - 90) <= 3 && abs(Int(back.v[0]) - 240) <= 3)
    }

    @Test("A file that cannot be written is an error that names it")
    func pngPath() {
        #expect(throws: CodecError.self) { try Picture(width: 16, height: 16).writePNG(path: "/nonexistent/a.png") }
        #expect(throws: CodecError.self) { try Picture.load(png: [1, 2, 3, 4]) }
    }
}
