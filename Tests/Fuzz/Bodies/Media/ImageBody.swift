import Foundation
import Fuzzing

@testable import Codecs
@testable import Conference
@testable import Mixing

/// Picture files from outside: avatars and pictures of layouts, which are decoded and painted, and pictures of a chat, of
/// which only the type is read.
enum ImageBody {
    static let target = FuzzTarget(
        "images", covers: "PNG and JPEG files: type and size, decoding, painting, writing as PNG",
        // A scan is a step: it costs a pass over the picture, however few bytes it has.
        limits: WorkLimits(
            base: .milliseconds(20), perByte: .microseconds(1), perStep: .milliseconds(2), memory: 4 << 20),
        maximumLength: 32_768,
        words: [
            "IHDR", "PLTE", "tRNS", "IDAT", "IEND", "acTL", "fcTL", "fdAT", "iCCP", "eXIf",
            "gAMA", "JFIF", "Adobe", "Exif", "AVI1", "LJIF", "GIF89a", "RIFF", "WEBP",
        ],
        seeds: { seeds }, body: run)

    /// A longest side in memory that some seeds exceed, and few enough pixels for many inputs a second.
    private static let limits = StillImage.Limits(bytes: 32_768, pixels: 1 << 18, side: 96)

    private static func run(_ input: FuzzInput, _ work: inout Work) {
        let file = input.bytes
        work.step(bytes: file.count, 1 + (StillImageHeader(file)?.scans ?? 0))
        let format = ChatPicture.Format(file)
        guard let image = try? StillImage(file, limits: limits) else { return work.weigh() }
        guard format == .png || format == .jpeg else { fatalError("images: decoded what no chat would take") }
        check(image)
        var unpacked = limits
        unpacked.bytes = .max
        guard let png = try? image.pngData(), let again = try? StillImage(png, limits: unpacked) else {
            fatalError("images: its own PNG cannot be read")
        }
        guard again.width == image.width, again.height == image.height else {
            fatalError("images: \(image.width)×\(image.height) became \(again.width)×\(again.height)")
        }
        for (width, height) in [(64, 64), (90, 16)] {
            for fit in [LayoutImage.Fit.contain, .cover] {
                let shown = LayoutImage(file: "a", picture: image, fit: fit, opacity: 0.5, isBehind: false)
                _ = Overlay(of: shown, width: width, height: height)
            }
        }
        work.weigh()
    }

    /// The properties on which the painter relies: whole rows, and colours multiplied by their opacity.
    private static func check(_ image: StillImage) {
        guard (1...limits.side).contains(image.width), (1...limits.side).contains(image.height),
            image.pixels.count == image.width * image.height * 4
        else { fatalError("images: \(image.pixels.count) bytes for \(image.width)×\(image.height) pixels") }
        for start in stride(from: 0, to: image.pixels.count, by: 4) {
            let opacity = image.pixels[start + 3]
            guard image.pixels[start..<start + 3].allSatisfy({ $0 <= opacity }) else {
                fatalError("images: a colour above its opacity at byte \(start)")
            }
        }
    }

    private static var seeds: [[UInt8]] {
        files.compactMap { Data(base64Encoded: $0, options: .ignoreUnknownCharacters).map { Array($0) } }
            + [Array("GIF89a".utf8), Array("RIFF\0\0\0\0WEBP".utf8)]
    }

    private static let files = [
        // JPEG, baseline, 4:2:0.
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8
        ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAAR
        CAAQABgDASIAAhEBAxEB/8QAFwAAAwEAAAAAAAAAAAAAAAAAAAMEBf/EABsQAAEFAQEAAAAAAAAAAAAAAAABAgMioSEx/8QAFgEBAQEAAAAA
        AAAAAAAAAAAAAwQF/8QAGREAAgMBAAAAAAAAAAAAAAAAAAMBAhMh/9oADAMBAAIRAxEAPwDAZD1LYPZD7bC5kPUtg9kPtsJ7ODS8hbDVLYBq
        thqlsALY0Yfw/9k=
        """,
        // JPEG, progressive, 4:4:4.
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8
        ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wgAR
        CAAQABgDAREAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAwIF/8QAFwEAAwEAAAAAAAAAAAAAAAAAAQIDBf/aAAwDAQACEAMQAAABzwEF
        bWqLnWtUFf/EABUQAQEAAAAAAAAAAAAAAAAAAAAR/9oACAEBAAEFAoiIiP/EABcRAQEBAQAAAAAAAAAAAAAAAAEAAiH/2gAIAQMBAT8BHtlh
        h7ZYb//EABYRAQEBAAAAAAAAAAAAAAAAAAABEf/aAAgBAgEBPwHVrWrWv//EABQQAQAAAAAAAAAAAAAAAAAAACD/2gAIAQEABj8CX//EABgQ
        AAMBAQAAAAAAAAAAAAAAAAABYSEx/9oACAEBAAE/IVYrFnorFYs9P//aAAwDAQACAAMAAAAQx4x//8QAFhEBAQEAAAAAAAAAAAAAAAAAECEA
        /9oACAEDAQE/EDM3M9//xAAYEQEBAQEBAAAAAAAAAAAAAAABABEQIf/aAAgBAgEBPxBGQSNnzxb/AP/EABgQAAMBAQAAAAAAAAAAAAAAAAAh
        wQEx/9oACAEBAAE/EHZB2gQgdkHaBCD/2Q==
        """,
        // JPEG, CMYK.
        """
        /9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAoHB4jHhkoIyEjLSsoMDxkQTw3Nzx7WF1JZJGAmZaPgIyKoLTmw6Cq2q2KjMj/y9ru9f///5vB////
        +v/m/f/4/8AAFAgACAAIBEMRAE0RAFkRAEsRAP/EABUAAQEAAAAAAAAAAAAAAAAAAAQF/8QAGRABAAIDAAAAAAAAAAAAAAAAAAVhFSFB/9oA
        DgRDAE0AWQBLAAA/ADxnB8dSVqll/9k=
        """,
        // JPEG, grey, with restart marks.
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8
        ybqmx5moq6T/wAALCAAQABgBAREA/8QAFgABAQEAAAAAAAAAAAAAAAAAAwQF/8QAGxAAAQUBAQAAAAAAAAAAAAAAIgABAgOhITH/3QAEAAP/
        2gAIAQEAAD8AwIU9YsTwp9LE8aRYsX//0JYU9YsTwp9LE8aRYsX/2Q==
        """,
        // PNG, palette, one colour transparent.
        """
        iVBORw0KGgoAAAANSUhEUgAAABgAAAAQAgMAAABxSlcGAAAADFBMVEV4lhkAlhlaPBZaABbPVl2gAAAAAnRSTlP/AOW3MEoAAABESURBVHja
        dcwhFYBAEEDB2X0EOIMhDQlweNIQgjQkQdDjOMRZUKP+jwbSB8MRBVlPyFYgxxlirctGcvdg70xIz/X3fAFpkwpKNpBA/AAAAABJRU5ErkJg
        gg==
        """,
        // PNG, with opacity.
        """
        iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAYAAAAMJL+VAAAAjElEQVR42u2UsQqAIBCGv8AhXCroIZqdffzm5ubmZueGToq4iBSHoIPj1O+4
        O/HHCqhRzKPb23MDNGDRfSSXGaDbN734dFpDLjNAeyTOwCDRXoqkMYOPDSZJWgAnMSamM+UGDliBoEz5nl0aWJkgKEXSmDQYubc8dnqDcjJt
        Py5TSsvU/zJ9kmnh33QD+FRdTR5HqagAAAAASUVORK5CYII=
        """,
        // PNG, 16 bits a colour, wider than the longest side.
        """
        iVBORw0KGgoAAAANSUhEUgAAAKAAAAAEEAYAAABZ0uiWAAAAaElEQVR42u3UMQFAQBhA4cMigghGEUQwiiCCUQQRbhThItwogghGoxBv/N8X
        4ksJGqEF2qEMVeiFBmiGNuiECvRAPTRBK3RAF3RDH9QYoAEaoAFGDbA1QAM0QAOMGmBngAZogAYYNcAfJD+wjg1IXtQAAAAASUVORK5CYII=
        """,
        // PNG, interlaced, 1 bit.
        """
        iVBORw0KGgoAAAANSUhEUgAAABAAAAAQAQAAAAFAj/JaAAAADklEQVR42mNYykACxI4ACHUYf2L9eukAAAAASUVORK5CYII=
        """,
    ]
}
