from django.apps import AppConfig


class WhatifConfig(AppConfig):
    name = "webapp.whatif"
    label = "whatif"
