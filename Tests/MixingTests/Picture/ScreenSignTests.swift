import Codecs
import Testing

@testable import Mixing

/// Two tiles of one person, the camera and the screen, are told apart by the label.
@Suite("The sign of a shared screen")
struct ScreenSignTests {
    private func canvas(isScreen: Bool, isMuted: Bool = false, showsName: Bool = true) throws -> Picture {
        var arranged = try shipped("grid").arrange(people(1), canvasWidth: 640, canvasHeight: 360, previous: [])
        for index in arranged.tiles.indices { arranged.tiles[index].showsName = showsName }
        let picture = Picture(width: 640, height: 360)
        picture.fill(y: 90, u: 128, v: 128)
        let compositor = Compositor(width: 640, height: 360)
        return try #require(
            compositor.compose(arranged) { _ in
                var appearance = TileAppearance(name: "Ada", picture: picture, pictureGeneration: 1, isMuted: isMuted)
                appearance.isScreen = isScreen
                return appearance
            })
    }

    private func label(isScreen: Bool, isMuted: Bool = false) throws -> Overlay {
        try #require(
            TextRenderer.shared.overlay(
                .label(text: "Ada", fontSize: 20, maxWidth: 300, isMuted: isMuted, isScreen: isScreen)))
    }

    @Test("The label of a screen has a sign before the name, beside that of a muted microphone")
    func sign() throws {
        let plain = try label(isScreen: false).width
        let screen = try label(isScreen: true).width
        #expect((22...26).contains(screen - plain))
        #expect((22...26).contains(try label(isScreen: true, isMuted: true).width - screen))
    }

    @Test("A screen's tile differs from a camera's with the same picture, and only where names are shown")
    func tiles() throws {
        let camera = try canvas(isScreen: false), screen = try canvas(isScreen: true)
        let differs = (0..<360).contains { y in
            (0..<640).contains { camera.y[y * camera.yStride + $0] != screen.y[y * screen.yStride + $0] }
        }
        #expect(differs)
        let (without, bare) = (
            try canvas(isScreen: true, showsName: false), try canvas(isScreen: false, showsName: false)
        )
        #expect(
            !(0..<360).contains { y in
                (0..<640).contains { without.y[y * without.yStride + $0] != bare.y[y * bare.yStride + $0] }
            })
    }

    @Test("A tile that begins to show a screen is drawn anew")
    func change() throws {
        let arranged = try shipped("grid").arrange(people(1), canvasWidth: 640, canvasHeight: 360, previous: [])
        let compositor = Compositor(width: 640, height: 360)
        let picture = Picture(width: 640, height: 360)
        var appearance = TileAppearance(name: "Ada", picture: picture, pictureGeneration: 1)
        #expect(compositor.compose(arranged) { _ in appearance } != nil)
        #expect(compositor.compose(arranged) { _ in appearance } == nil)
        appearance.isScreen = true
        #expect(compositor.compose(arranged) { _ in appearance } != nil)
    }
}
