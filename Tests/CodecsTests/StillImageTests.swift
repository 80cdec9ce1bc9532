import Foundation
import Testing

@testable import Codecs

@Suite("Still images") struct StillImageTests {
    /// 4×2 pixels: the left half red, the right half transparent.
    private static let png = bytes(
        "iVBORw0KGgoAAAANSUhEUgAAAAQAAAACCAYAAAB/qH1jAAAAFElEQVR4nGP4z8DwH4SBkAGGUQQA3UQL9So2oRYAAAAASUVORK5CYII=")
    /// 16×8 pixels: the left half red, the right half blue.
    private static let jpeg = bytes(
        "/9j/4AAQSkZJRgABAgAAAQABAAD//gAQTGF2YzU5LjM3LjEwMAD/2wBDAAgEBAQEBAUFBQUFBQYGBgYGBgYGBgYGBgYHBwcICAgHBwcGBgcH"
            + "CAgICAkJCQgICAgJCQoKCgwMCwsODg4RERT/xABOAAEAAAAAAAAAAAAAAAAAAAAGAQEAAAAAAAAAAAAAAAAAAAAGEAEAAAAAAAAAAAAAAAAA"
            + "AAAAEQADAQEAAAAAAAAAAAAAAAAACEbEhf/AABEIAAgAEAMBIgACEQADEQD/2gAMAwEAAhEDEQA/ABYgXiBUstXx942YWa6uI//Z")
    private static let limits = StillImage.Limits(bytes: 10_000, pixels: 1 << 20, side: 64)

    private static func bytes(_ base64: String) -> [UInt8] { Data(base64Encoded: base64).map { Array($0) } ?? [] }

    private func fault(_ file: [UInt8], _ limits: StillImage.Limits = limits) -> StillImage.Fault? {
        do throws(StillImage.Fault) {
            _ = try StillImage(file, limits: limits)
            return nil
        } catch {
            return error
        }
    }

    /// Blue, green, red, opacity.
    private func pixel(_ image: StillImage, _ x: Int, _ y: Int) -> [UInt8] {
        let start = (y * image.width + x) * 4
        return Array(image.pixels[start..<start + 4])
    }

    @Test("PNG keeps its transparency, JPEG its colours") func decode() throws {
        let png = try StillImage(Self.png, limits: Self.limits)
        #expect((png.width, png.height) == (4, 2))
        #expect(pixel(png, 0, 0) == [0, 0, 255, 255])
        #expect(pixel(png, 3, 1) == [0, 0, 0, 0])
        let jpeg = try StillImage(Self.jpeg, limits: Self.limits)
        #expect((jpeg.width, jpeg.height) == (16, 8))
        #expect(pixel(jpeg, 2, 4)[2] > 200 && pixel(jpeg, 2, 4)[0] < 60)
        #expect(pixel(jpeg, 13, 4)[0] > 200 && pixel(jpeg, 13, 4)[2] < 60)
        #expect(png != jpeg)
        #expect(png == (try StillImage(Self.png, limits: Self.limits)))
    }

    @Test("A large picture is scaled down to the longest side") func side() throws {
        let picture = Picture(width: 640, height: 320)
        picture.fill(y: 120, u: 128, v: 128)
        var limits = Self.limits
        limits.bytes = 1 << 20
        let image = try StillImage(try picture.pngData(), limits: limits)
        #expect((image.width, image.height) == (64, 32))
    }

    @Test("What a file says of its size is checked before it is decoded") func hugeSizes() {
        var png = Self.png
        png.replaceSubrange(16..<24, with: [0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF])
        #expect(fault(png) == .tooManyPixels(width: 65535, height: 65535, most: 1 << 20))
        png.replaceSubrange(16..<24, with: [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
        #expect(fault(png) == .tooManyPixels(width: 0xFFFF_FFFF, height: 0xFFFF_FFFF, most: 1 << 20))
        png.replaceSubrange(16..<24, with: [0, 0, 0, 0, 0, 0, 0, 4])
        #expect(fault(png) == .damaged)
        var jpeg = Self.jpeg
        if let frame = jpeg.indices.first(where: { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 }) {
            jpeg.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xFF, 0xFF, 0xFF])
        }
        #expect(fault(jpeg) == .tooManyPixels(width: 65535, height: 65535, most: 1 << 20))
    }

    @Test("Files that are cut, of another type, too long, or of very many scans are refused") func hostile() {
        #expect(fault([]) == .wrongType)
        #expect(fault(Array("GIF89a".utf8) + [1, 0, 1, 0, 0, 0, 0]) == .wrongType)
        #expect(fault(Array("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8)) == .wrongType)
        for count in 0..<Self.png.count { #expect(fault(Array(Self.png[..<count])) != nil, "\(count)") }
        for count in 0..<Self.jpeg.count - 2 { #expect(fault(Array(Self.jpeg[..<count])) != nil, "\(count)") }
        #expect(fault(Self.png + [UInt8](repeating: 0, count: 10_000)) == .tooManyBytes(most: 10_000))
        guard let scan = Self.jpeg.indices.first(where: { Self.jpeg[$0] == 0xFF && Self.jpeg[$0 + 1] == 0xDA }) else {
            return
        }
        let scans = Array(Self.jpeg[scan..<Self.jpeg.count - 2])
        let bomb = Array(Self.jpeg.dropLast(2)) + (0..<100).flatMap { _ in scans } + [0xFF, 0xD9]
        #expect(fault(bomb) == .damaged)
    }

    @Test("Random changes of a file never trap", arguments: [png, jpeg]) func noise(file: [UInt8]) {
        for index in file.indices {
            for value: UInt8 in [0, 1, 0x7F, 0x80, 0xC2, 0xDA, 0xFF] {
                var broken = file
                broken[index] = value
                _ = try? StillImage(broken, limits: Self.limits)
            }
        }
    }
}
