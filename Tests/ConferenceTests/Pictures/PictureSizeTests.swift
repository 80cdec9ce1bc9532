import Testing

@testable import Conference

@Suite struct PictureSizeTests {
    private static let png: [UInt8] = [
        0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A,
        // IHDR of 13 bytes: 640×360.
        0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 2, 0x80, 0, 0, 1, 0x68, 8, 2, 0, 0, 0,
    ]
    private static let jpeg: [UInt8] = [
        0xFF, 0xD8,
        // APP0 of 4 bytes, a fill byte, DHT of 3 bytes, a restart mark.
        0xFF, 0xE0, 0, 4, 0xFF, 0xC0, 0xFF, 0xFF, 0xC4, 0, 3, 9, 0xFF, 0xD0,
        // SOF2: 11 bytes, 8 bits, 360 rows of 640.
        0xFF, 0xC2, 0, 11, 8, 1, 0x68, 2, 0x80, 1, 1, 0x11, 0,
    ]
    private static let gif = Array("GIF89a".utf8) + [0x80, 2, 0x68, 1]
    private static let riff = Array("RIFF".utf8) + [9, 9, 9, 9] + Array("WEBP".utf8)
    private static let lossy =
        riff + Array("VP8 ".utf8) + [0, 0, 0, 0, 0x50, 1, 0, 0x9D, 1, 0x2A, 0x80, 0x42, 0x68, 0x81]
    /// 14 bits of 639, 14 of 359.
    private static let lossless = riff + Array("VP8L".utf8) + [0, 0, 0, 0, 0x2F, 0x7F, 0xC2, 0x59, 0]
    private static let extended = riff + Array("VP8X".utf8) + [10, 0, 0, 0, 0, 0, 0, 0, 0x7F, 2, 0, 0x67, 1, 0]

    private static let all = [png, jpeg, gif, lossy, lossless, extended]

    @Test(arguments: all) func `the size is read from the header`(picture: [UInt8]) {
        let size = ChatPicture.Size(picture)
        #expect(size?.width == 640 && size?.height == 360)
    }

    @Test(arguments: all) func `a file that ends in its header has none`(picture: [UInt8]) {
        // The last bytes of the JPEG and the PNG are behind the size.
        for count in 0..<picture.count - 6 {
            #expect(ChatPicture.Size(Array(picture.prefix(count))) == nil, "\(count)")
        }
    }

    @Test(arguments: all) func `no byte of a header can trap`(picture: [UInt8]) {
        for index in picture.indices {
            for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
                var changed = picture
                changed[index] = value
                if let size = ChatPicture.Size(changed) { #expect(size.width > 0 && size.height > 0) }
            }
        }
    }

    @Test func `what is no picture, or a JPEG without a frame, has no size`() {
        #expect(ChatPicture.Size([]) == nil && ChatPicture.Size([1, 2, 3, 4]) == nil)
        #expect(ChatPicture.Size([0xFF, 0xD8, 0xFF, 0xDA, 0, 2, 1, 2, 3]) == nil)
        #expect(ChatPicture.Size([0xFF, 0xD8, 0xFF, 0xE0, 0, 0, 0xFF, 0xE0, 0, 1]) == nil)
        #expect(ChatPicture.Size([0xFF, 0xD8] + [UInt8](repeating: 0xFF, count: 1000)) == nil)
    }
}
