"""What the base template needs and Django lacks."""

from django import template
from django.template.context import Context
from django.template.loader_tags import BLOCK_CONTEXT_KEY

register = template.Library()


@register.simple_tag(takes_context=True)
def block_again(context: Context, name: str) -> str:
    """What the page wrote into a block, once more: its title is also its heading."""
    blocks = context.render_context.get(BLOCK_CONTEXT_KEY)
    block = blocks.get_block(name) if blocks else None
    return block.nodelist.render(context) if block else ""
